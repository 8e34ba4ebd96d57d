"""What nothing needs goes, and nothing else, whoever is about to need it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from arbiter.packages import FileVersions
from arbiter.packages.versions import UNREFERENCED_AGE
from arbiter.registry.registry import Registry
from arbiter.registry.sweeping import STALE, Sweeper
from arbiter.registry.uploads import MAX_AGE, Declared
from arbiter.store import Scope, Store, Token, Version, VersionState
from tests.service.test_registry import package

NOW = datetime.now(UTC)
ADA = Token("t", "ada", Scope.CONTESTANT, "", NOW, NOW)


class Contents(FileVersions):
    """Does something just before it sweeps, after what is needed was looked up."""

    before: Callable[[], object] = staticmethod(lambda: None)

    def sweep(self, referenced: Collection[str], age: float = UNREFERENCED_AGE) -> list[str]:
        self.before()
        return super().sweep(referenced, age)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "arbiter.db") as opened:
        yield opened


@pytest.fixture
def contents(tmp_path: Path) -> Contents:
    return Contents(tmp_path / "bots")


@pytest.fixture
def registry(tmp_path: Path, store: Store, contents: Contents) -> Registry:
    return Registry(store, contents, tmp_path / "registry")


@pytest.fixture
def sweeper(tmp_path: Path, store: Store, contents: Contents, registry: Registry) -> Sweeper:
    return Sweeper(store, contents, registry.uploads, (tmp_path / "registry" / "staging", tmp_path / "nowhere"))


def submit(registry: Registry, name: str, request_id: str = "") -> Version:
    data = package(name)
    data.seek(0)
    declared = Declared("ada", request_id or name, len(data.getvalue()), "")
    return registry.submit(ADA, declared, data, "", "", NOW)


def age(path: Path, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(path, (then, then))


def test_only_what_is_old_and_not_needed_goes(
    tmp_path: Path, store: Store, contents: Contents, registry: Registry, sweeper: Sweeper
) -> None:
    kept, gone, young = (submit(registry, name) for name in ("lowest", "uniform", "careful"))
    for version in (gone, young):
        bot = version.submission.bot
        store.versions.move(bot, 1, VersionState.FAILED, datetime(2020, 1, 1, tzinfo=UTC))
    for version in (kept, gone):
        age(tmp_path / "bots" / version.submission.digest, UNREFERENCED_AGE + 60)
    assert sweeper.sweep() == [gone.submission.digest]
    assert contents.digests() == sorted([kept.submission.digest, young.submission.digest])


def test_what_comes_again_while_it_is_swept_stays(
    tmp_path: Path, store: Store, contents: Contents, registry: Registry, sweeper: Sweeper
) -> None:
    """An old content that nothing refers to is submitted anew after it was found to be needed by nobody."""
    old = submit(registry, "lowest")
    store.versions.move("lowest", 1, VersionState.FAILED, datetime(2020, 1, 1, tzinfo=UTC))
    age(tmp_path / "bots" / old.submission.digest, UNREFERENCED_AGE + 60)
    contents.before = lambda: submit(registry, "lowest", "again")
    assert sweeper.sweep() == []
    contents.open(old.submission.digest)


def test_uploads_and_staging_go_when_nobody_went_on_with_them(
    tmp_path: Path, registry: Registry, sweeper: Sweeper
) -> None:
    for owner in ("ada", "bob"):
        with suppress(ConnectionError), registry.uploads.open(Declared(owner, "one", 10, "0" * 64), 0) as upload:
            upload.write(b"12345")
            raise ConnectionError
    first, second = (tmp_path / "registry" / "uploads").glob("*/one")
    age(first, MAX_AGE + 60)
    staging = tmp_path / "registry" / "staging"
    for name in ("old", "new"):
        (staging / name).mkdir(parents=True)
    age(staging / "old", STALE + 60)
    sweeper.sweep()
    assert [first.exists(), second.exists()] == [False, True]
    assert [path.name for path in staging.iterdir()] == ["new"]
