"""What is wrong with a command's input is said in one line with cause and remedy, and nothing is written."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from arbiter.cli.local import LocalOptions, check_bots
from arbiter.packages import FileVersions
from arbiter.store import Entrant, Store, TournamentState
from arbiter.tournament import SpecError
from tests.cli.conftest import Call, Outcome
from tests.e2e.support import BOTS, SAMPLES, Place, tournament_file, until
from tests.patience import PATIENCE
from tests.ports import reserved_port
from tests.tournament.support import ID, START, create

FOUR = [SAMPLES / "lowest"] * 4


def said(outcome: Outcome | subprocess.CompletedProcess[str], status: int, *parts: str | Path) -> str:
    """Check that a command failed with this status and one line that holds these parts; returns the line."""
    if isinstance(outcome, subprocess.CompletedProcess):
        outcome = Outcome(outcome.returncode, outcome.stdout, outcome.stderr)
    assert (outcome.status, outcome.output) == (status, ""), outcome.errors
    (line,) = outcome.errors.splitlines()
    assert line.startswith("error: ")
    assert line.isprintable()
    for part in parts:
        assert str(part) in line
    return line


def nothing_written(data: Path) -> bool:
    with Store.open(data / "arbiter.db") as store:
        return store.tournaments() == []


@pytest.fixture
def data(tmp_path: Path) -> Iterator[Path]:
    """A data folder for a command that must leave no tournament in it."""
    folder = tmp_path / "data"
    folder.mkdir()
    yield folder
    if not (folder / "arbiter.db").exists() or (folder / "arbiter.db").stat().st_size < 1000:
        return  # no database at all, or none of ours
    assert nothing_written(folder)


# -- the tournament file -----------------------------------------------------------------------------------------------


def test_a_tournament_file_that_is_not_there(call: Call, data: Path) -> None:
    path = data / "nowhere.toml"
    outcome = call("tournament", "run", path, "--data-dir", data)
    said(outcome, 2, path, "can't be read: No such file or directory; name a tournament file (TOML)")


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("name = ", "is no TOML"),
        ("\xff", "is not UTF-8 text"),
        ('name = "cup"\nworker = 2\n', "worker: unknown key; did you mean 'workers'?"),
        (
            'name = "cup"\n[rules]\nname = "black_ladi"\n',
            "there is no rule set 'black_ladi' (did you mean 'black_lady'?",
        ),
    ],
)
def test_a_tournament_file_that_says_something_wrong(call: Call, data: Path, text: str, part: str) -> None:
    path = data / "cup.toml"
    entrants = "".join(f'[[entrants]]\nbot = "{bot}"\nname = "b{n}"\n' for n, bot in enumerate(FOUR))
    path.write_text(text + entrants, "latin-1")
    said(call("tournament", "run", path, "--data-dir", data), 2, path, part)


def test_a_bot_folder_that_is_not_there(call: Call, data: Path) -> None:
    path = tournament_file(data, [*FOUR[:3], data / "nobot"])
    said(call("tournament", "run", path, "--data-dir", data), 2, data / "nobot")


def test_a_bot_folder_without_a_manifest(call: Call, data: Path) -> None:
    (data / "nobot").mkdir()
    path = tournament_file(data, [*FOUR[:3], data / "nobot"])
    said(call("tournament", "run", path, "--data-dir", data), 2, data / "nobot", "bot.toml")


def test_two_bots_of_one_name(call: Call, data: Path) -> None:
    path = data / "cup.toml"
    path.write_text('name = "cup"\n' + "".join(f'[[entrants]]\nbot = "{bot}"\n' for bot in FOUR))
    said(
        call("tournament", "run", path, "--data-dir", data),
        2,
        "'lowest' is entrant 1 already; give one of them another",
    )


# -- ids ---------------------------------------------------------------------------------------------------------------


@pytest.fixture
def running(data: Path, tmp_path: Path) -> Path:
    """A data folder with a tournament that is being played."""
    folder = tmp_path / "running"
    folder.mkdir()
    with Store.open(folder / "arbiter.db") as store:
        create(store)
    return folder


@pytest.mark.parametrize("command", [("standings",), ("resume",)])
def test_a_tournament_that_is_not_known(call: Call, running: Path, command: tuple[str, ...]) -> None:
    said(call("tournament", *command, "other", "--data-dir", running), 2, "other", ID)


def test_a_tournament_in_an_empty_database(call: Call, data: Path) -> None:
    said(call("tournament", "standings", "other", "--data-dir", data), 2, "other")


def test_a_replay_of_a_match_that_is_still_played(call: Call, running: Path) -> None:
    outcome = call("replay", "show", f"{ID}/0/0", "--data-dir", running)
    said(outcome, 2, f"match {ID}/0 is still being played; its replays are shown after its last sitting")


@pytest.mark.parametrize("sitting", [f"{ID}", f"{ID}/0", f"{ID}/0/x", f"{ID}/0/0/0", f"{ID}/-1/0", f"{ID}//"])
def test_what_does_not_name_a_sitting(call: Call, running: Path, sitting: str) -> None:
    said(
        call("replay", "show", sitting, "--data-dir", running),
        2,
        "write TOURNAMENT/MATCH/SITTING, such as demo-1a2b/3/0",
    )


@pytest.mark.parametrize("sitting", [f"{ID}/5/0", "other/0/0"])
def test_a_sitting_that_is_not_known(call: Call, running: Path, sitting: str) -> None:
    said(call("replay", "show", sitting, "--data-dir", running), 2)


def test_a_tournament_that_was_cancelled_is_not_resumed(call: Call, running: Path) -> None:
    with Store.open(running / "arbiter.db") as store:
        store.set_state(ID, TournamentState.CANCELLED, now=START)
    outcome = call("tournament", "resume", ID, "--data-dir", running, "--redis", "redis://127.0.0.1:1/0")
    said(outcome, 2, f"tournament {ID} is cancelled; see it with: arbiter tournament standings {ID}")


def test_a_board_that_there_is_not(call: Call, played: Path) -> None:
    outcome = call("replay", "show", f"{ID}/0/0", "--board", "9", "--data-dir", played)
    said(outcome, 2, f"sitting {ID}/0/0 has no board 9; it has boards 1 to 2")


# -- the data folder ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command", [("tournament", "list"), ("tournament", "standings", "x"), ("replay", "show", "x/0/0"), ("demo",)]
)
def test_a_data_folder_that_can_not_be(call: Call, tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        said(call(*command, "--data-dir", folder), 2, folder, "choose another folder with --data-dir")


def test_a_data_folder_with_a_colon_in_its_path(call: Call, tmp_path: Path) -> None:
    said(call("tournament", "list", "--data-dir", tmp_path / "a:b"), 2, "colon", "--data-dir")


def test_a_database_that_is_damaged(call: Call, data: Path) -> None:
    (data / "arbiter.db").write_bytes(b"no database at all, but long enough to be looked at" * 9)
    said(call("tournament", "list", "--data-dir", data), 4, data / "arbiter.db")


def test_a_database_that_is_a_folder(call: Call, data: Path) -> None:
    (data / "arbiter.db").mkdir()
    said(call("tournament", "list", "--data-dir", data), 4, data / "arbiter.db")
    (data / "arbiter.db").rmdir()


def test_a_bots_folder_that_can_not_be_made(call: Call, data: Path) -> None:
    (data / "bots").write_text("")
    said(call("tournament", "run", tournament_file(data, FOUR), "--data-dir", data), 4, data / "bots")


# -- what a run needs of the machine -----------------------------------------------------------------------------------


def test_a_bot_that_does_not_start_is_named_with_its_last_line(call: Call, data: Path) -> None:
    path = tournament_file(data, [*FOUR[:3], BOTS / "crashing"])
    outcome = call("tournament", "run", path, "--data-dir", data)
    line = said(outcome, 2, "entrant 'bot4' does not start: ended before its greeting: exit status 1")
    assert "its last line: no  [31mweights [0m to load; try it with: arbiter bot check DIR" in line


def test_a_version_that_is_entered_twice_is_tried_out_once(tmp_path: Path) -> None:
    """With the shorter of two start-up allowances, which nothing starts in here."""
    opened: list[str] = []

    class Watched(FileVersions):
        def open(self, digest: str) -> Path:
            opened.append(digest)
            return super().open(digest)

    versions = Watched(tmp_path / "bots")
    twice = [Entrant(index, f"bot{index}", versions.put(SAMPLES / "lowest").digest, {}) for index in range(2)]
    options = LocalOptions(tmp_path, None, 1, False)
    asyncio.run(check_bots(twice, options, versions, [PATIENCE, PATIENCE]))
    assert opened == [twice[0].digest]
    with pytest.raises(SpecError, match="entrant 'bot0' does not start: "):
        asyncio.run(check_bots(twice, options, versions, [PATIENCE, 0.0]))


def test_a_port_that_is_taken(place: Place) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        listen = f"127.0.0.1:{other.getsockname()[1]}"
        outcome = place.run("up", "--address", listen)
    said(outcome, 4, f"can't listen at {listen}: Address already in use; choose another address")
    assert place.run_folders() == []


def test_a_redis_that_is_not_there(call: Call, running: Path) -> None:
    with reserved_port() as port:
        url = f"redis://:pa55word@127.0.0.1:{port}/0"
        outcome = call("tournament", "resume", ID, "--data-dir", running, "--redis", url)
    line = said(outcome, 4, f"no Redis answers at redis://***@127.0.0.1:{port}/0", "leave --redis out")
    assert f"; to go on: arbiter tournament resume {ID} --data-dir {running} --redis " in line
    assert "pa55word" not in line


def test_an_interrupted_check_leaves_nothing(place: Place) -> None:
    """Ctrl-C before the plan is written: there is nothing to go on with, and nothing to clean up."""
    silent = place.data / "silent"
    silent.mkdir()
    (silent / "bot.toml").write_text('[bot]\nname = "silent"\nruntime = "python"\nrun = ["python", "bot.py"]\n')
    (silent / "bot.py").write_text("import time; time.sleep(1000)\n")
    # The check does not end by itself.
    cup = tournament_file(place.data, [*FOUR[:3], silent], clock="start_up = 1000.0")
    with place.start("tournament", "run", cup) as run:
        until(lambda: bool(place.run_folders()) or run.poll() is not None, "the bots are started")
        run.terminate()
        output, errors = run.communicate(timeout=PATIENCE)
    assert (run.returncode, output, errors) == (130, "", "")
    assert nothing_written(place.data)
    assert place.run_folders() == []


def test_uncaged_bots_never_run_as_root(call: Call, data: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root, whose bots have to be other users")
    data.chmod(0o700)
    path = tournament_file(data, FOUR)
    outcome = call("tournament", "run", path, "--data-dir", data, "--unsafe-processes")
    said(outcome, 4, "a bot never runs as root", "can't pass", "run the service as an ordinary user")


# -- a bot to be tried -------------------------------------------------------------------------------------------------


def test_a_bot_to_be_tried_that_is_not_there(call: Call, tmp_path: Path) -> None:
    said(call("bot", "check", tmp_path / "nobot"), 2, tmp_path / "nobot")
    said(call("bot", "check", tmp_path), 2, "bot.toml")


def test_rules_to_be_tried_that_there_are_not(call: Call) -> None:
    said(call("bot", "check", SAMPLES / "lowest", "--rules", "black_ladi"), 2, "did you mean 'black_lady'?")


@pytest.mark.parametrize(
    "words",
    [("tournament", "run", "x", "--workers", "0"), ("demo", "--boards", "many"), ("tournament", "start"), ("x",)],
)
def test_words_that_the_command_line_does_not_know(call: Call, words: tuple[str, ...]) -> None:
    outcome = call(*words)
    assert (outcome.status, outcome.output) == (2, "")
    assert "Usage: " in outcome.errors
    assert "Traceback" not in outcome.errors


@pytest.mark.parametrize("command", ["up", "serve"])
def test_limits_that_are_none_are_refused_before_anything_is_started(call: Call, tmp_path: Path, command: str) -> None:
    file = tmp_path / "limits.toml"
    file.write_text("[quota]\nbots = -1\n")
    refused = call(command, "--limits", file, "--data-dir", tmp_path / "data")
    assert (refused.status, refused.output) == (2, "")
    assert refused.errors.strip().endswith(f"{file}: quota.bots is -1; write a number above 0 and up to {1 << 53}")
    assert not (tmp_path / "data").exists()
