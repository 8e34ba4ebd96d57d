"""The ladder's command line, where it starts no process: the leaderboard, a chart, what comes, and refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from arbiter.api.ladder.v1 import ladder_pb2 as pb
from arbiter.cli.ladder_text import HEIGHT, history_chart
from arbiter.store import Store
from arbiter.tournament.ladder import extend_ladder
from tests.cli.conftest import Call
from tests.tournament.test_ladder import LADDER, SKILLS, create, enter, play_matches


@pytest.fixture(scope="module")
def climbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with a ladder of eight matches and one to come."""
    folder = tmp_path_factory.mktemp("ladder")
    with Store.open(folder / "arbiter.db") as store:
        create(store)
        for owner in SKILLS:
            enter(store, owner)
        play_matches(store, 8)
        enter(store, "ada", 2, leaving=[0])
        assert extend_ladder(store, LADDER, 1)
    return folder


def test_everything_is_shown_and_printed_as_data(call: Call, climbed: Path) -> None:
    table = call("ladder", "show", "--data-dir", climbed)
    assert (table.status, table.errors) == (0, "")
    assert f"Ladder {LADDER}, black_lady" in table.output
    shown = json.loads(call("ladder", "show", "--data-dir", climbed, "--json").output)
    assert shown["ladder"] == LADDER
    assert shown["leaderboard"][-1]["version"] == "adabot@1"
    assert {row["version"]: row["active"] for row in shown["leaderboard"]}["adabot@1"] is False
    assert all(row["interval"][0] < row["rating"] < row["interval"][1] for row in shown["leaderboard"])
    for row in shown["leaderboard"]:
        assert f"{row['rating']:+.2f}" in table.output

    drawn = call("ladder", "history", "evebot", "--data-dir", climbed)
    assert drawn.output.startswith("evebot@1: rating after each match, with its 95 % interval\n")
    past = json.loads(call("ladder", "history", "evebot", "--data-dir", climbed, "--json").output)
    assert drawn.output.count("●") == len(past["history"]) > 1
    assert f"now {past['history'][-1]['rating']:+.2f}" in drawn.output

    coming = json.loads(call("ladder", "next", "--data-dir", climbed, "--json").output)
    assert [match["match"] for match in coming["upcoming"]] == [8]
    assert "adabot@2" in call("ladder", "next", "adabot", "--data-dir", climbed).output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("show", "--ladder", "cup-1"), "there is no tournament 'cup-1'"),
        (("history", "zoe"), "zoe is not on this ladder; enter it with: arbiter ladder enter zoe"),
        (("next", "zoe@1"), "zoe@1 is not on this ladder"),
        (("leave", "zoe@1"), "zoe@1 is not on this ladder"),
        (("enter", "zoe@1"), "there is no version zoe@1"),
        (("run", "--rules", "no_such"), "no_such"),
    ],
)
def test_mistakes_are_named_in_one_line(call: Call, climbed: Path, arguments: tuple[str, ...], message: str) -> None:
    outcome = call("ladder", *arguments, "--data-dir", climbed)
    assert (outcome.status, outcome.output) == (2, "")
    assert message in outcome.errors
    assert outcome.errors.count("\n") == 1


def test_nobody_plays_alone(call: Call, tmp_path: Path) -> None:
    outcome = call("ladder", "run", "--data-dir", tmp_path)
    assert outcome.status == 2
    assert "has 0 bots, and a table seats 4; enter some with: " in outcome.errors


def test_a_chart_keeps_every_point_inside() -> None:
    points = [
        pb.RatingPoint(matches=number + 1, rating=rating, rating_low=rating - width, rating_high=rating + width)
        for number, (rating, width) in enumerate([(-1.0, 4.0), (0.5, 2.0), (0.5, 0.0), (0.7, 1.0)])
    ]
    lines = [line.plain for line in history_chart(pb.GetHistoryResponse(name="mybot@3", points=points))]
    plot = [line.partition("┤")[2] for line in lines if "┤" in line]
    assert len(plot) == HEIGHT
    columns = [[line[2 * number : 2 * number + 1] for line in plot] for number in range(4)]
    assert all(column.count("●") == 1 for column in columns)
    assert columns[0][0] in "│", "the highest end is on the first line"
    assert columns[0][-1] == "│", "and the lowest on the last"
    assert columns[2].count("│") == 0, "an interval of no width is a point"
    assert lines[-1] == "now +0.70, 95 % interval -0.30 to +1.70, 4 matches, 0 hands"
    (only,) = history_chart(pb.GetHistoryResponse(name="mybot@3"))
    assert only.plain == "mybot@3 has no complete match yet"
    alike = [pb.RatingPoint(matches=1)]
    assert any("●" in line.plain for line in history_chart(pb.GetHistoryResponse(name="x", points=alike)))
