"""Snapshots: the same content gives the same digest, everything else another; nothing comes in from outside."""

from __future__ import annotations

import os
import shutil
import socket
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arbiter.cage import SnapshotError, SnapshotLimits, take_snapshot, verify_snapshot

# SHA-256 of the records of a/x (executable, empty) and b ("hearts"), one after the other.
KNOWN = "81fd787defb87d692418027360717b024fd1ba01862ee76e27f024c22d77bc2b"

Files = dict[str, tuple[bytes, bool]]

names = st.sampled_from(["a", "b", "a b", "ä", "c.py"])
paths = st.lists(names, min_size=1, max_size=3).map("/".join)
trees = st.dictionaries(paths, st.tuples(st.binary(max_size=8), st.booleans()), max_size=5).filter(
    lambda files: not any(one != other and other.startswith(one + "/") for one in files for other in files)
)


def build(folder: Path, files: Files) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for relative, (content, executable) in files.items():
        path = folder / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        path.chmod(0o700 if executable else 0o600)
    return folder


def read(folder: Path) -> Files:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {
        path.relative_to(folder).as_posix(): (path.read_bytes(), bool(path.stat().st_mode & 0o111)) for path in found
    }


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def bot(tmp_path: Path) -> Path:
    return build(tmp_path / "bot", {"bot.py": (b"print()", False), "lib/run": (b"#!", True)})


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=60)
@given(first=trees, second=trees)
def test_digests_are_equal_exactly_when_the_files_are(tmp_path: Path, first: Files, second: Files) -> None:
    store = tmp_path / "store"
    one = take_snapshot(build(tmp_path / "one", first), store)
    two = take_snapshot(build(tmp_path / "two", second), store)
    assert (one.digest == two.digest) == (first == second)
    assert read(one.path) == first
    assert verify_snapshot(one.path)
    assert verify_snapshot(two.path)


def test_known_digest(tmp_path: Path, store: Path) -> None:
    """Worked out by hand from the documented construction; a change of it would orphan every recorded version."""
    folder = build(tmp_path / "bot", {"b": (b"hearts", False), "a/x": (b"", True)})
    assert take_snapshot(folder, store).digest == KNOWN


def test_modes_are_the_same_under_any_umask(bot: Path, store: Path) -> None:
    before = os.umask(0o077)
    try:
        path = take_snapshot(bot, store).path
    finally:
        os.umask(before)
    modes = {item.relative_to(path).as_posix(): oct(item.stat().st_mode & 0o7777) for item in path.rglob("*")}
    assert modes == {"bot.py": "0o644", "lib": "0o755", "lib/run": "0o755"}
    assert oct(path.stat().st_mode & 0o7777) == "0o755"


def test_second_snapshot_is_the_first(bot: Path, store: Path) -> None:
    first = take_snapshot(bot, store)
    before = first.path.stat().st_ino
    assert take_snapshot(bot, store) == first
    assert first.path.stat().st_ino == before
    assert [entry.name for entry in store.iterdir()] == [first.digest]


def test_snapshot_stays_when_the_author_goes_on_working(bot: Path, store: Path) -> None:
    first = take_snapshot(bot, store)
    (bot / "bot.py").write_bytes(b"print(2)")
    second = take_snapshot(bot, store)
    assert first.digest != second.digest
    assert (first.path / "bot.py").read_bytes() == b"print()"


def test_caches_and_history_are_left_out(bot: Path, store: Path) -> None:
    digest = take_snapshot(bot, store).digest
    for name in ("__pycache__", ".git", "lib/__pycache__"):
        (bot / name).mkdir()
        (bot / name / "x").write_bytes(b"x")
    again = take_snapshot(bot, store)
    assert again.digest == digest
    assert sorted(read(again.path)) == ["bot.py", "lib/run"]


def test_links_inside_are_replaced_by_what_they_point_to(bot: Path, store: Path) -> None:
    (bot / "start").symlink_to("lib/run")
    (bot / "again").symlink_to("lib")
    (bot / "whole").symlink_to(bot / "bot.py")
    files = read(take_snapshot(bot, store).path)
    assert files["start"] == files["again/run"] == files["lib/run"] == (b"#!", True)
    assert files["whole"] == (b"print()", False)
    assert not any(item.is_symlink() for item in store.rglob("*"))


def refused(bot: Path, store: Path, match: str, limits: SnapshotLimits | None = None) -> None:
    with pytest.raises(SnapshotError, match=match) as caught:
        take_snapshot(bot, store, limits)
    assert "\n" not in str(caught.value)
    assert not store.exists() or list(store.iterdir()) == []


def test_link_that_leaves_is_refused(bot: Path, store: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("token")
    (bot / "lib" / "data").symlink_to("../../secret")
    refused(bot, store, r"lib/data: a symbolic link that leaves the bot's folder \(to .*secret\)")


def test_link_to_nowhere_is_refused(bot: Path, store: Path) -> None:
    (bot / "data").symlink_to("missing")
    refused(bot, store, r"data: a symbolic link that leads nowhere")


def test_link_to_itself_is_refused(bot: Path, store: Path) -> None:
    (bot / "data").symlink_to("data")
    refused(bot, store, r"data: a symbolic link that leads nowhere")


def test_link_to_a_folder_above_is_refused(bot: Path, store: Path) -> None:
    (bot / "lib" / "up").symlink_to("..")
    refused(bot, store, r"lib/up: a symbolic link to a folder that holds it")


def test_special_files_are_refused(bot: Path, store: Path) -> None:
    os.mkfifo(bot / "pipe")
    refused(bot, store, r"pipe: a socket, pipe or device")
    (bot / "pipe").unlink()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(bot / "sock"))
        refused(bot, store, r"sock: a socket, pipe or device")


def test_bounds(bot: Path, store: Path) -> None:
    assert take_snapshot(bot, store, SnapshotLimits(max_bytes=9, max_files=2)).digest
    shutil.rmtree(store)
    refused(bot, store, r"more than 8 bytes in all \(at lib/run\)", SnapshotLimits(max_bytes=8))
    refused(bot, store, r"more than 1 files", SnapshotLimits(max_files=1))


def test_missing_folder(tmp_path: Path, store: Path) -> None:
    refused(tmp_path / "nowhere", store, r"nowhere: no such folder")


def damage_content(path: Path) -> None:
    (path / "bot.py").write_bytes(b"PRINT()")


def damage_mode(path: Path) -> None:
    (path / "bot.py").chmod(0o755)


def damage_by_adding(path: Path) -> None:
    (path / "__pycache__").mkdir()
    (path / "__pycache__" / "x").write_bytes(b"")


def damage_by_removing(path: Path) -> None:
    (path / "lib" / "run").unlink()


def damage_with_a_link(path: Path) -> None:
    (path / "more").symlink_to("bot.py")


DAMAGES = [damage_content, damage_mode, damage_by_adding, damage_by_removing, damage_with_a_link]


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_noticed_and_mended_by_the_next_snapshot(bot: Path, store: Path, damage: object) -> None:
    assert callable(damage)
    path = take_snapshot(bot, store).path
    damage(path)
    assert not verify_snapshot(path)
    assert take_snapshot(bot, store).path == path
    assert verify_snapshot(path)


def test_nothing_verifies_where_nothing_is(tmp_path: Path) -> None:
    assert not verify_snapshot(tmp_path / "0")


def test_many_at_once_make_one(bot: Path, store: Path) -> None:
    digests: list[str] = []
    threads = [threading.Thread(target=lambda: digests.append(take_snapshot(bot, store).digest)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(digests) == 8
    assert [entry.name for entry in store.iterdir()] == [digests[0]]
    assert set(digests) == {digests[0]}
