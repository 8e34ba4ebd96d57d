"""What nothing needs goes, and nothing else, whoever is about to need it."""

from __future__ import annotations

import os
import shutil
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
from arbiter.registry.uploads import MAX_AGE, Declared, Uploads
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
    os.utime(path, (then, then), follow_symlinks=False)


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
        (staging / name / "deep").mkdir(parents=True)
    (staging / "file").write_text("whatever this is")
    (staging / "link").symlink_to(tmp_path)
    for name in ("old", "file", "link"):
        age(staging / name, STALE + 60)
    sweeper.sweep()
    assert [first.exists(), second.exists()] == [False, True]
    assert [path.name for path in staging.iterdir()] == ["new"]
    assert tmp_path.is_dir()


def test_what_others_delete_at_the_same_time_stops_no_sweep(
    tmp_path: Path, registry: Registry, sweeper: Sweeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A package's own process deletes its folder during a sweep: before it is looked at, and while it goes."""
    staging = tmp_path / "registry" / "staging"
    for name in ("first", "second"):
        (staging / name / "deep").mkdir(parents=True)
        age(staging / name, STALE + 60)
    look, delete = Path.lstat, shutil.rmtree
    others: list[Path] = []

    def gone_before(path: Path) -> os.stat_result:
        if path.parent == staging and not others:
            others.append(path)
            delete(path)
        return look(path)

    def gone_meanwhile(path: Path) -> None:
        if len(others) == 1:
            others.append(path)
            delete(path / "deep")
            (path / "deep" / "file").unlink()  # as the walk does with what it has listed
        delete(path)

    monkeypatch.setattr(Path, "lstat", gone_before)
    monkeypatch.setattr("arbiter.packages.removal.shutil.rmtree", gone_meanwhile)
    sweeper.sweep()
    assert sorted(path.name for path in others) == ["first", "second"]
    assert list(staging.iterdir()) == []


def test_what_another_database_has_taken_meanwhile_stays(
    tmp_path: Path, contents: Contents, sweeper: Sweeper, caplog: pytest.LogCaptureFixture
) -> None:
    """Two that begin in an empty store of objects at the same moment may both get it, until they look again."""
    contents.claim("another")
    digest = contents.put(Path(__file__).parents[2] / "sample_bots" / "lowest").digest
    age(tmp_path / "bots" / digest, UNREFERENCED_AGE + 60)
    assert sweeper.sweep() == []
    assert contents.digests() == [digest]
    assert "contents that nothing needs stay for now" in caplog.text
    assert "holds the bots of another database" in caplog.text


def test_what_can_not_be_deleted_keeps_nothing_else(
    tmp_path: Path, store: Store, contents: Contents, registry: Registry, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(Uploads):
        def sweep(self) -> None:
            raise PermissionError(13, "Permission denied", "uploads")

    old = submit(registry, "lowest")
    store.versions.move("lowest", 1, VersionState.FAILED, datetime(2020, 1, 1, tzinfo=UTC))
    age(tmp_path / "bots" / old.submission.digest, UNREFERENCED_AGE + 60)
    assert Sweeper(store, contents, Broken(tmp_path, 1), ()).sweep() == [old.submission.digest]
    assert "uploads that nothing needs stay for now: [Errno 13] Permission denied: 'uploads'" in caplog.text
