"""Standings, crosstable, faults and details for the terminal and as JSON. Needs the base install alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from google.protobuf.message import Message
from rich.table import Table
from rich.text import Text

from arbiter.api.tournament.v1 import tournament_pb2 as pb
from arbiter.cli.console import one_line
from arbiter.cli.ranking_text import plus_minus, probability, ranked_by, ranks, stage

NO_INTERVAL: Final = "none where boards are too few"


def standings_tables(found: pb.GetStandingsResponse) -> list[Table]:
    """All that was told."""
    tables = [standings_table(found)]
    if found.crosstable:
        tables.append(crosstable_table(found))
    faults = faults_table(found)
    if faults is not None:
        tables.append(faults)
    return [*tables, *(details_tables(found.details) if found.details else [])]


def standings_table(found: pb.GetStandingsResponse, title: str | None = None) -> Table:
    """Standings, best first: points per hand, what ranks in the format, mean place, rating, faults."""
    heading, meaning = ranked_by(found.format)
    direction = "fewer is better" if found.lowest_wins else "more is better"
    table = _table(title or f"Standings of {found.tournament.id}")
    table.add_column("", justify="right")
    table.add_column("side" if found.sides else "bot", style="bold", no_wrap=True)
    for name in ("points per hand", heading, "mean place", "rating"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("hands", justify="right")
    table.add_column("faults", justify="right")
    for row in found.standings:
        faults = sum(row.faults.values())
        table.add_row(
            str(row.rank) if row.HasField("points_per_hand") else "",
            one_line(row.name),
            points(row),
            _ranked_by(row, found.stages),
            plus_minus(_given(row, "mean_place"), _given(row, "mean_place_half_width")),
            rating(row),
            f"{row.hands:,}",
            Text(str(faults), style="red" if faults else "dim"),
        )
    table.caption = (
        f"± half a 95 % interval, {NO_INTERVAL}; points: {direction}; {meaning}; "
        "rating: points per hand better than the mean of the ladder, ? provisional"
    )
    return table


def crosstable_table(found: pb.GetStandingsResponse) -> Table:
    """Each pair's difference in points per hand and the probability that the bot of the row is better."""
    table = _table("Crosstable: row against column, points per hand")
    names = [one_line(row.name) for row in found.standings]
    pairs = _both_ways(found)
    table.add_column("")
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    for one, name in enumerate(names):
        table.add_row(
            Text(name, style="bold"), *(_pairing_text(pairs.get((one, other))) for other in range(len(names)))
        )
    table.caption = "positive: the row's bot did better; %: probability that it is truly better, coloured beyond 97.5 %"
    return table


def faults_table(found: pb.GetStandingsResponse) -> Table | None:
    """Faults by bot and code, with what came of them; None when there are none."""
    codes = sorted({code for row in found.standings for code in row.faults})
    others = {
        "voided sittings": [row.voids for row in found.standings],
        "forfeited matches": [row.forfeits for row in found.standings],
    }
    others = {name: counts for name, counts in others.items() if any(counts)}
    if not codes and not others:
        return None
    table = _table("Faults")
    table.add_column("bot", style="bold")
    for code in codes:
        table.add_column(code, justify="right")
    for name in others:
        table.add_column(name, justify="right")
    for place, row in enumerate(found.standings):
        shown = [*(dict(row.faults).get(code, 0) for code in codes), *(counts[place] for counts in others.values())]
        if any(shown):
            table.add_row(one_line(row.name), *map(str, shown))
    return table


def details_tables(found: Sequence[pb.EntrantDetails]) -> list[Table]:
    """Moons and thinking time; points per hand by seat; points per hand by pass direction."""
    first = _table("Moons and thinking time")
    first.add_column("bot", style="bold", no_wrap=True)
    for heading in ("moons per 100 hands", "thinking", "answers", "per answer"):
        first.add_column(heading, justify="right", no_wrap=True)
    for row in found:
        timed, seconds = row.HasField("thinking_time"), row.thinking_time.ToTimedelta().total_seconds()
        first.add_row(
            one_line(row.name),
            moons(row.moons if row.HasField("moons") else None),
            f"{seconds:.2f} s" if timed else "",
            f"{row.answers:,}" if timed else "",
            f"{1000 * seconds / row.answers:.3f} ms" if row.answers else "",
        )
    first.caption = f"± half a 95 % interval, {NO_INTERVAL}; thinking: what the clocks were charged with"
    names = [one_line(row.name) for row in found]
    seats = sorted({each.seat for row in found for each in row.seats})
    by_seat = [{f"seat {each.seat}": each.points for each in row.seats} for row in found]
    by_direction = [{_direction(each.direction): each.points for each in row.directions} for row in found]
    return [
        first,
        _columns("Points per hand by seat", names, [f"seat {seat}" for seat in seats], by_seat),
        _columns(
            "Points per hand by pass direction",
            names,
            list(dict.fromkeys(direction for row in by_direction for direction in row)),
            by_direction,
        ),
    ]


def standings_dict(found: pb.GetStandingsResponse) -> dict[str, object]:
    """All that was told as plain data: numbers unrounded, entrants by name."""
    names = [row.name for row in found.standings]
    told: dict[str, object] = {
        "tournament": found.tournament.id,
        "name": found.tournament.name,
        "state": pb.TournamentState.Name(found.tournament.state).removeprefix("TOURNAMENT_STATE_").lower(),
        "rules": found.tournament.rules,
        "format": found.format,
        "stages": found.stages or None,
        "hands": found.tournament.hands,
        "standings": [_standing_dict(row) for row in found.standings],
        "crosstable": [
            {
                "name": names[one],
                "opponent": names[other],
                "boards": pair.boards,
                "difference": pair.difference,
                "standard_error": _given(pair, "standard_error"),
                "interval": _interval(pair.difference, _given(pair, "half_width")),
                "superiority": _given(pair, "superiority"),
            }
            for (one, other), pair in sorted(_both_ways(found).items())
        ],
    }
    if found.details:
        told["details"] = [_details_dict(row) for row in found.details]
    return told


def points(row: pb.Standing) -> str:
    """``6.50 ± 0.12``, as far as there is one."""
    return plus_minus(_given(row, "points_per_hand"), _given(row, "half_width"))


def rating(row: pb.Standing) -> str:
    """``+1.30 ± 0.20``, with a question mark while it is provisional."""
    return plus_minus(row.rating, row.rating_half_width, sign="+") + ("?" if row.rating_provisional else "")


def moons(found: pb.PerHand | None) -> str:
    """Moons per 100 hands."""
    return "0" if found is not None and not found.value else per_hand(found, 100)


def per_hand(found: pb.PerHand | None, times: int = 1) -> str:
    """``6.50 ± 0.12``, as far as there is one, so many times."""
    if found is None:
        return plus_minus(None, None)
    half = _given(found, "half_width")
    return plus_minus(times * found.value, None if half is None else times * half)


def _table(title: str) -> Table:
    return Table(title=title, title_style="bold", title_justify="left", caption_justify="left")


def _given(message: Message, field: str) -> float | None:
    """A field that may be left out."""
    return getattr(message, field) if message.HasField(field) else None


def _interval(value: float | None, half: float | None) -> list[float] | None:
    return None if value is None or half is None else [value - half, value + half]


def _ranked_by(row: pb.Standing, stages: int) -> str:
    """What ranks a bot in the format, beside its points per hand."""
    if row.HasField("score"):
        return f"{row.score:g}"
    if row.stage_reached and stages:
        return stage(row.stage_reached, stages)
    return ranks(row.best_rank, row.worst_rank) if row.best_rank else ""


def _both_ways(found: pb.GetStandingsResponse) -> dict[tuple[int, int], pb.Pairing]:
    """The crosstable by (one, other), each pair seen from both."""
    pairs = {}
    for pair in found.crosstable:
        turned = pb.Pairing()
        turned.CopyFrom(pair)
        turned.one, turned.other, turned.difference = pair.other, pair.one, -pair.difference
        if pair.HasField("superiority"):
            turned.superiority = 1 - pair.superiority
        pairs[pair.one, pair.other], pairs[pair.other, pair.one] = pair, turned
    return pairs


def _pairing_text(pair: pb.Pairing | None) -> Text:
    if pair is None:
        return Text("·", style="dim")
    sure = _given(pair, "superiority")
    style = "" if sure is None or 0.025 < sure < 0.975 else "green" if sure > 0.5 else "red"
    return Text(f"{pair.difference:+.2f} {probability(sure)}", style=style)


def _direction(name: str) -> str:
    return "no pass" if name == "none" else f"pass {one_line(name)}"


def _columns(
    title: str, names: Sequence[str], headings: Sequence[str], rows: Sequence[Mapping[str, pb.PerHand]]
) -> Table:
    table = _table(title)
    table.add_column("bot", style="bold", no_wrap=True)
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    for name, row in zip(names, rows, strict=True):
        table.add_row(name, *(per_hand(row.get(heading)) for heading in headings))
    return table


def _standing_dict(row: pb.Standing) -> dict[str, object]:
    per_hand, place = _given(row, "points_per_hand"), _given(row, "mean_place")
    return {
        "rank": row.rank,
        "score": _given(row, "score"),
        "stage_reached": row.stage_reached or None,
        "ranks": [row.best_rank, row.worst_rank] if row.best_rank else None,
        "name": row.name,
        "hands": row.hands,
        "boards": row.boards,
        "points_per_hand": per_hand,
        "standard_error": _given(row, "standard_error"),
        "interval": _interval(per_hand, _given(row, "half_width")),
        "mean_place": place,
        "mean_place_interval": _interval(place, _given(row, "mean_place_half_width")),
        "rating": row.rating,
        "rating_interval": _interval(row.rating, row.rating_half_width),
        "rating_provisional": row.rating_provisional,
        "faults": dict(row.faults),
        "forfeits": row.forfeits,
        "voids": row.voids,
    }


def _details_dict(row: pb.EntrantDetails) -> dict[str, object]:
    timed = row.HasField("thinking_time")
    return {
        "name": row.name,
        "moons_per_hand": _plain(row.moons if row.HasField("moons") else None),
        "thinking_seconds": row.thinking_time.ToTimedelta().total_seconds() if timed else None,
        "answers": row.answers if timed else None,
        "seats": {str(each.seat): _plain(each.points) for each in row.seats},
        "directions": {each.direction: _plain(each.points) for each in row.directions},
    }


def _plain(found: pb.PerHand | None) -> dict[str, float | None] | None:
    return found and {"value": found.value, "standard_error": _given(found, "standard_error")}
