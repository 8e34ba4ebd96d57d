"""What the commands print: tables for people, JSON for programs, and no control characters where no terminal is."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from arbiter.api.tournament.v1 import tournament_pb2 as pb
from arbiter.cli import console
from arbiter.cli.ranking_text import ordinal, probability, ranks
from arbiter.cli.standings_text import points, rating
from arbiter.match import hand_to_dict
from arbiter.service.standings_messages import standings_message
from arbiter.store import SittingKey, Store
from arbiter.tournament import Desk, details, released_replay, report
from arbiter.tournament.stages import write_next_stage
from tests.cli.conftest import Call
from tests.e2e.support import BOTS, SAMPLES
from tests.tournament.support import ID, START, create, play_all, spec_of

NAMES = ["bot0", "bot1", "bot2", "bot3"]


def parsed(text: str) -> Any:
    return json.loads(text)


def is_plain(text: str) -> bool:
    """Whether nothing in it steers a terminal."""
    return all(letter == "\n" or letter.isprintable() for letter in text)


def test_the_list_of_tournaments(call: Call, played: Path) -> None:
    outcome = call("tournament", "list", "--data-dir", played, "--json")
    assert (outcome.status, outcome.errors) == (0, "")
    (row,) = parsed(outcome.output)
    assert (row["id"], row["state"], row["active"], row["sittings"], row["recorded"], row["hands"]) == (
        ID,
        "completed",
        False,
        4,
        4,
        8,
    )
    table = call("tournament", "list", "--data-dir", played)
    assert (table.status, table.errors) == (0, "")
    assert is_plain(table.output)
    assert ID in table.output
    assert "4/4" in table.output


def test_an_empty_list_says_how_to_begin(call: Call, tmp_path: Path) -> None:
    assert call("tournament", "list", "--data-dir", tmp_path, "--json").output == "[]\n"
    outcome = call("tournament", "list", "--data-dir", tmp_path)
    assert (outcome.status, outcome.output, outcome.errors) == (0, "", "no tournaments yet; try: arbiter demo\n")


def test_standings_for_programs_and_for_people_are_the_same(call: Call, played: Path) -> None:
    outcome = call("tournament", "standings", ID, "--data-dir", played, "--json")
    assert (outcome.status, outcome.errors) == (0, "")
    with Store.open(played / "arbiter.db") as store:
        found = report(store, ID)
    assert parsed(outcome.output) == json.loads(json.dumps(found.to_dict()))
    table = call("tournament", "standings", ID[:-1], "--data-dir", played)
    assert (table.status, table.errors) == (0, "")
    assert is_plain(table.output)
    for row in standings_message(found, pb.Tournament()).standings:
        (line,) = (line for line in table.output.splitlines() if f" {row.name} " in line and " to " in line)
        assert points(row) in line
        assert rating(row) in line
        assert ranks(row.best_rank, row.worst_rank) in line


@pytest.mark.parametrize(
    ("options", "heading", "shown"),
    [
        ({"format": "swiss", "swiss": {"stages": 2}}, " score ", r"[0-6](\.5)?"),
        ({"format": "knockout"}, " reached ", "final|stage 1"),
    ],
)
def test_what_ranks_in_a_format_is_shown_beside_the_points(
    call: Call, tmp_path: Path, options: dict[str, Any], heading: str, shown: str
) -> None:
    with Store.open(tmp_path / "arbiter.db") as store:
        create(store, spec_of(5, boards=1, **options))
        desk = Desk(store)
        play_all(store, desk)
        while write_next_stage(store, ID):
            play_all(store, desk)
        found = report(store, ID)
    table = call("tournament", "standings", ID, "--data-dir", tmp_path)
    assert (table.status, table.errors) == (0, "")
    assert heading in table.output
    order = []
    for line in table.output.split("Crosstable")[0].splitlines():
        cells = [cell.strip() for cell in line.strip("│").split("│")]
        if len(cells) > 3 and cells[1].startswith("bot"):
            assert re.fullmatch(shown, cells[3])
            order.append(cells[1])
    assert [name for name in order if name != "bot"] == [row.name for row in found.rows]


def test_details_are_shown_when_asked_for(call: Call, played: Path) -> None:
    with Store.open(played / "arbiter.db") as store:
        found = details(store, ID)
    plain = call("tournament", "standings", ID, "--data-dir", played)
    asked = call("tournament", "standings", ID, "--data-dir", played, "--details")
    assert (asked.status, asked.errors) == (0, "")
    assert asked.output.startswith(plain.output)
    behind = asked.output.removeprefix(plain.output)
    for words in ("moons per 100 hands", "1.00 s", "104", "9.615 ms", "seat 3", "pass left", "pass right"):
        assert words in behind
        assert words not in plain.output
    data = parsed(call("tournament", "standings", ID, "--data-dir", played, "--details", "--json").output)
    assert data["details"] == json.loads(json.dumps(found.to_list()))
    assert all(f"{of_seat[0].value:.2f}" in behind for of_seat in found.breakdown.seats.values() if of_seat[0])


@pytest.mark.parametrize(
    ("number", "shown"), [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (22, "22nd"), (112, "112th")]
)
def test_ranks_are_read_as_they_are_said(number: int, shown: str) -> None:
    assert ordinal(number) == ranks(number, number) == shown
    assert ranks(1, number + 1) == f"1st to {ordinal(number + 1)}"


@pytest.mark.parametrize(
    ("value", "shown"), [(None, "–"), (0.0, "<1%"), (0.004, "<1%"), (0.5, "50%"), (0.996, ">99%"), (1.0, ">99%")]
)
def test_nothing_is_shown_as_certain(value: float | None, shown: str) -> None:
    assert probability(value) == shown


def test_a_completed_tournament_resumed_is_shown(call: Call, played: Path) -> None:
    again = call("tournament", "resume", ID, "--data-dir", played, "--json")
    assert (again.status, again.errors) == (0, "")
    assert again.output == call("tournament", "standings", ID, "--data-dir", played, "--json").output


def test_a_replay_for_programs_is_what_was_recorded(call: Call, played: Path) -> None:
    with Store.open(played / "arbiter.db") as store:
        replay = released_replay(store, SittingKey(ID, 0, 2))
    outcome = call("replay", "show", f"{ID}/0/2", "--data-dir", played, "--json")
    assert (outcome.status, outcome.errors) == (0, "")
    assert parsed(outcome.output) == [hand_to_dict(hand) for hand in replay.hands]
    one = call("replay", "show", f"{ID[:-1]}/0/2", "--board", "2", "--data-dir", played, "--json")
    assert parsed(one.output) == [hand_to_dict(replay.hands[1])]


def test_a_replay_for_people_has_every_seat_and_trick(call: Call, played: Path) -> None:
    outcome = call("replay", "show", f"{ID}/0/0", "--board", "1", "--data-dir", played)
    assert (outcome.status, outcome.errors) == (0, "")
    assert is_plain(outcome.output)
    with Store.open(played / "arbiter.db") as store:
        hand = released_replay(store, SittingKey(ID, 0, 0)).hands[0]
    assert f"board 1  pass {hand.direction}" in outcome.output
    assert all(name in outcome.output for name in NAMES)


def test_colours_are_for_terminals_that_want_them(call: Call, played: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    show = ("replay", "show", f"{ID}/0/0", "--board", "1", "--data-dir", played)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr(console, "output", Console(force_terminal=True))
    assert "\x1b[31m" in call(*show).output
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(console, "output", Console(force_terminal=True))
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]m", call(*show).output)


def test_the_version_and_the_help(call: Call) -> None:
    assert call("--version").output.startswith("arbiter ")
    for words in ((), ("tournament",), ("replay",), ("bot",), ("cage", "check"), ("tournament", "run"), ("demo",)):
        assert "Usage: " in call(*words, "--help").output


def test_a_good_bot_passes_its_check(call: Call) -> None:
    outcome = call("bot", "check", SAMPLES / "lowest", "--boards", "2")
    assert (outcome.status, outcome.errors) == (0, "")
    assert outcome.output.startswith("ok lowest: 2 hands without a fault, ")
    assert is_plain(outcome.output)


def test_a_bot_that_breaks_the_rules_fails_its_check(call: Call) -> None:
    outcome = call("bot", "check", BOTS / "cheat", "--boards", "2")
    assert (outcome.status, outcome.output) == (1, "")
    assert "ILLEGAL_PLAY at board 1" in outcome.errors
    assert "its log:\n  cheating\n" in outcome.errors


def test_a_bot_that_does_not_start_fails_its_check_with_its_log(call: Call) -> None:
    outcome = call("bot", "check", BOTS / "crashing", "--json")
    assert (outcome.status, outcome.errors) == (1, "")
    found = parsed(outcome.output)
    assert [fault["code"] for fault in found["faults"]] == ["CRASH"]
    assert found["ending"] == "exit status 1"
    assert found["log"] == "no \x1b[31mweights\x1b[0m to load\n"
    table = call("bot", "check", BOTS / "crashing")
    assert table.status == 1
    assert "no  [31mweights" in table.errors
    assert is_plain(table.errors)


def test_a_bot_that_does_not_build_fails_its_check_with_the_builds_log(call: Call, tmp_path: Path) -> None:
    if shutil.which("g++") is None or shutil.which("make") is None:
        pytest.skip("no g++ or no make on this machine")
    (tmp_path / "bot.toml").write_text('[bot]\nname = "broken"\nruntime = "cpp"\nrun = ["./bot"]\n')
    (tmp_path / "main.cpp").write_text("int main() { return cards; }\n")
    found = call("bot", "check", tmp_path)
    assert (found.status, found.output) == (1, "")
    assert found.errors.startswith("broken: the build failed: the build command: exit status 1\nits log:\n")
    assert "main.cpp:1:" in found.errors
    assert parsed(call("bot", "check", tmp_path, "--json").output)["build"] == "failed"


def test_the_database_is_looked_after(call: Call, played: Path, tmp_path: Path) -> None:
    data = Path(shutil.copytree(played, tmp_path / "data"))
    assert call("db", "upgrade", "--data-dir", data).status == 0
    well = call("db", "check", "--data-dir", data)
    assert (well.status, well.output) == (0, "")
    assert well.errors.endswith("arbiter.db: all is well\n")
    assert call("db", "backup", tmp_path / "backup.db", "--data-dir", data).status == 0
    assert (tmp_path / "backup.db").stat().st_size > 0
    with sqlite3.connect(data / "arbiter.db") as connection:
        connection.execute("UPDATE sitting SET state = 'planned' WHERE number = 0")
    connection.close()
    bad = call("db", "check", "--data-dir", data)
    assert (bad.status, bad.errors) == (1, "")
    assert bad.output == f"sitting {ID}/0/0 has a result and is not recorded\n"


def test_a_database_that_is_not_there_is_not_made(call: Call, tmp_path: Path) -> None:
    for words in (["check"], ["backup", tmp_path / "backup.db"]):
        outcome = call("db", *words, "--data-dir", tmp_path)
        assert (outcome.status, list(tmp_path.iterdir())) == (2, [])
    assert "ARBITER_DATABASE_URL is not set" in call("db", "copy", "--data-dir", tmp_path).errors


def test_workers_and_alarms_are_shown_and_alarms_are_a_failure(call: Call, played: Path, tmp_path: Path) -> None:
    well = call("tournament", "workers", ID, "--data-dir", played, "--json")
    share = {"bad": 0, "of": 4, "outlying": False}
    assert well.status == 0
    assert parsed(well.output) == {
        "workers": [{"worker": "w1", "lost": share, "faulty": share, "slow": share}],
        "alarms": [],
    }
    data = Path(shutil.copytree(played, tmp_path / "data"))
    with Store.open(data / "arbiter.db") as store:
        store.refuse(SittingKey(ID, 0, 2), 1, "0" * 64, "the replay [bold]breaks\x1b[0m off", START)
    bad = call("tournament", "workers", ID, "--data-dir", data)
    assert bad.status == 1
    assert is_plain(bad.output)
    assert "the replay [bold]breaks" in bad.output
