"""A ladder for the terminal and as JSON: leaderboard, chart of a rating, what is played next. Needs the base install
alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.table import Table
from rich.text import Text

from arbiter.api.ladder.v1 import ladder_pb2 as pb
from arbiter.cli.console import one_line

HEIGHT: Final = 13
"""Lines of a chart."""

_STEPS: Final = 2
"""Columns for each point of a chart."""


def leaderboard_table(found: pb.GetLeaderboardResponse) -> Table:
    """The leaderboard, best first."""
    table = Table(title=f"Ladder {found.ladder}, {found.rules}", title_style="bold", title_justify="left")
    table.add_column("", justify="right")
    table.add_column("version", style="bold", no_wrap=True)
    table.add_column("owner")
    for heading in ("rating", "95 % interval", "rank", "matches", "hands"):
        table.add_column(heading, justify="right", no_wrap=True)
    for entry in found.entries:
        ranked = entry.HasField("rank")
        table.add_row(
            str(entry.rank) if ranked else "?" if entry.active else "",
            one_line(entry.name),
            one_line(entry.owner),
            f"{entry.rating:+.2f}",
            f"{entry.rating_low:+.2f} to {entry.rating_high:+.2f}",
            _ranks(entry) if ranked else "",
            str(entry.matches),
            f"{entry.hands:,}",
            style="" if entry.active else "dim",
        )
    table.caption = (
        "rating: points per hand better than the mean; the order goes by the interval's lower end; rank: those open at "
        "95 %; ? provisional; dim: left"
    )
    table.caption_justify = "left"
    return table


def leaderboard_dict(found: pb.GetLeaderboardResponse) -> dict[str, object]:
    """The same as plain data: numbers unrounded."""
    return {
        "ladder": found.ladder,
        "rules": found.rules,
        "leaderboard": [
            {
                "rank": entry.rank if entry.HasField("rank") else None,
                "ranks": [entry.best_rank, entry.worst_rank] if entry.HasField("rank") else None,
                "version": entry.name,
                "owner": entry.owner,
                "active": entry.active,
                "rating": entry.rating,
                "interval": [entry.rating_low, entry.rating_high],
                "matches": entry.matches,
                "hands": entry.hands,
            }
            for entry in found.entries
        ],
    }


def history_chart(found: pb.GetHistoryResponse) -> list[Text]:
    """The rating over matches with its interval, as lines of text; the newest match is on the right."""
    points = found.points
    if not points:
        return [Text(f"{one_line(found.name)} has no complete match yet")]
    low, high = min(point.rating_low for point in points), max(point.rating_high for point in points)
    step = max(high - low, 1e-9) / (HEIGHT - 1)

    def line_of(value: float) -> int:
        return round((high - value) / step)

    canvas = [[" "] * (_STEPS * len(points)) for _ in range(HEIGHT)]
    for number, point in enumerate(points):
        for line in range(line_of(point.rating_high), line_of(point.rating_low) + 1):
            canvas[line][_STEPS * number] = "│"
        canvas[line_of(point.rating)][_STEPS * number] = "●"
    lines = [Text(f"{one_line(found.name)}: rating after each match, with its 95 % interval", style="bold")]
    for number, row in enumerate(canvas):
        label = f"{high - number * step:+7.2f}" if number % 3 == 0 else " " * 7
        lines.append(Text(f"{label} ┤{''.join(row).rstrip()}"))
    first, last = f"match {points[0].matches}", f"match {points[-1].matches}"
    width = max(_STEPS * len(points), len(first) + len(last) + 2)
    lines.append(Text(f"{' ' * 7} └{'─' * width}"))
    lines.append(Text(f"{' ' * 9}{first}{last:>{width - len(first)}}"))
    newest = points[-1]
    lines.append(
        Text(
            f"now {newest.rating:+.2f}, 95 % interval {newest.rating_low:+.2f} to {newest.rating_high:+.2f}, "
            f"{newest.matches} matches, {newest.hands:,} hands"
        )
    )
    return lines


def history_dict(found: pb.GetHistoryResponse) -> dict[str, object]:
    """The same as plain data."""
    return {
        "ladder": found.ladder,
        "version": found.name,
        "history": [
            {
                "time": point.time.ToDatetime().isoformat(timespec="seconds") + "Z",
                "matches": point.matches,
                "hands": point.hands,
                "rating": point.rating,
                "interval": [point.rating_low, point.rating_high],
            }
            for point in found.points
        ],
    }


def upcoming_table(found: pb.ListUpcomingResponse) -> Table:
    """What is played now and next."""
    table = Table(title=f"Next on ladder {found.ladder}", title_style="bold", title_justify="left")
    table.add_column("match", justify="right")
    table.add_column("versions")
    table.add_column("sittings", justify="right")
    for each in found.matches:
        planned = each.HasField("match")
        table.add_row(
            str(each.match) if planned else "expected",
            ", ".join(map(one_line, each.names)),
            f"{each.sittings_recorded}/{each.sittings}" if planned else "",
        )
    return table


def upcoming_dict(found: pb.ListUpcomingResponse) -> dict[str, object]:
    """The same as plain data."""
    return {
        "ladder": found.ladder,
        "upcoming": [
            {
                "match": each.match if each.HasField("match") else None,
                "versions": list(each.names),
                "sittings_recorded": each.sittings_recorded,
                "sittings": each.sittings,
            }
            for each in found.matches
        ],
    }


def _ranks(entry: pb.LadderEntry) -> str:
    return str(entry.best_rank) if entry.best_rank == entry.worst_rank else f"{entry.best_rank} to {entry.worst_rank}"


def printed(lines: Sequence[Text]) -> Text:
    """Lines as one text."""
    return Text("\n").join(lines)
