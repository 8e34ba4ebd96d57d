"""Tables of results, for the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from rich.table import Table
from rich.text import Text

from arbiter.cli.console import one_line
from arbiter.cli.ranking_text import plus_minus, ranked_by, ranks, stage
from arbiter.rating import Estimate, Rating
from arbiter.rating.ladder import INTERVAL
from arbiter.rating.ratio import MIN_BOARDS
from arbiter.store import Alarm
from arbiter.tournament import EntrantRow, TournamentDetails, TournamentReport, WorkerReport


def standings_table(report: TournamentReport, title: str | None = None) -> Table:
    """Standings, best first: points per hand, what ranks in the format, mean place, rating, faults."""
    heading, meaning = ranked_by(report.spec.format.kind)
    direction = "fewer is better" if report.lowest_wins else "more is better"
    table = Table(title=title or f"Standings of {report.tournament.id}", title_style="bold", title_justify="left")
    table.add_column("", justify="right")
    table.add_column("bot" if report.spec.sides is None else "side", style="bold", no_wrap=True)
    table.add_column("points per hand", justify="right", no_wrap=True)
    table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("mean place", justify="right", no_wrap=True)
    table.add_column("rating", justify="right", no_wrap=True)
    table.add_column("hands", justify="right")
    table.add_column("faults", justify="right")
    for row in report.rows:
        standing = row.standing
        faults = sum(row.faults.values())
        table.add_row(
            str(row.rank) if standing.points is not None else "",
            row.name,
            estimate(standing.points),
            _ranked_by(report, row),
            estimate(standing.place),
            rating(row.rating),
            f"{standing.hands:,}",
            Text(str(faults), style="red" if faults else "dim"),
        )
    table.caption = (
        f"± half a 95 % interval, none under {MIN_BOARDS} boards; points: {direction}; {meaning}; "
        "rating: points per hand better than the mean of the ladder, ? provisional"
    )
    table.caption_justify = "left"
    return table


def _ranked_by(report: TournamentReport, row: EntrantRow) -> str:
    """What ranks a bot in the format, beside its points per hand."""
    if row.score is not None:
        return f"{float(row.score):g}"
    if row.reached is not None and report.stages is not None:
        return stage(row.reached + 1, report.stages[1])
    return "" if row.standing.ranks is None else ranks(*row.standing.ranks)


def crosstable_table(report: TournamentReport) -> Table:
    """Each pair's difference in points per hand and the probability that the bot of the row is better."""
    table = Table(title="Crosstable: row against column, points per hand", title_style="bold", title_justify="left")
    order = [row.standing.entrant for row in report.rows]
    table.add_column("")
    for entrant in order:
        table.add_column(report.names[entrant], justify="right", no_wrap=True)
    for one in order:
        cells: list[Text] = []
        for other in order:
            pairing = report.pairings.get((one, other))
            if pairing is None:
                cells.append(Text("·", style="dim"))
                continue
            sure = pairing.superiority
            style = "" if sure is None or 0.025 < sure < 0.975 else "green" if sure > 0.5 else "red"
            cells.append(Text(f"{pairing.difference.value:+.2f} {probability(sure)}", style=style))
        table.add_row(Text(report.names[one], style="bold"), *cells)
    table.caption = "positive: the row's bot did better; %: probability that it is truly better, coloured beyond 97.5 %"
    table.caption_justify = "left"
    return table


def faults_table(report: TournamentReport) -> Table | None:
    """Faults by bot and code, with what came of them; None when there are none."""
    codes = sorted(Counter(code for row in report.rows for code in row.faults))
    others = {
        "voided sittings": [row.voids for row in report.rows],
        "forfeited matches": [row.forfeits for row in report.rows],
    }
    others = {name: counts for name, counts in others.items() if any(counts)}
    if not codes and not others:
        return None
    table = Table(title="Faults", title_style="bold", title_justify="left")
    table.add_column("bot", style="bold")
    for code in codes:
        table.add_column(code, justify="right")
    for name in others:
        table.add_column(name, justify="right")
    for place, row in enumerate(report.rows):
        counts = [*(row.faults.get(code, 0) for code in codes), *(counts[place] for counts in others.values())]
        if any(counts):
            table.add_row(row.name, *map(str, counts))
    return table


def details_tables(details: TournamentDetails) -> list[Table]:
    """Moons and thinking time; points per hand by seat; points per hand by pass direction."""
    points = details.breakdown
    first = Table(title="Moons and thinking time", title_style="bold", title_justify="left")
    first.add_column("bot", style="bold", no_wrap=True)
    for heading in ("moons per 100 hands", "thinking", "answers", "per answer"):
        first.add_column(heading, justify="right", no_wrap=True)
    for entrant, name in enumerate(details.names):
        time = details.thinking.get(entrant)
        each = "" if time is None or not time.answers else f"{1000 * time.seconds / time.answers:.3f} ms"
        first.add_row(
            name,
            moons(points.moons[entrant]),
            "" if time is None else f"{time.seconds:.2f} s",
            "" if time is None else f"{time.answers:,}",
            each,
        )
    first.caption = (
        f"± half a 95 % interval, none under {MIN_BOARDS} boards; thinking: what the clocks were charged with"
    )
    first.caption_justify = "left"
    by_seat = {f"seat {seat}": found for seat, found in points.seats.items()}
    by_direction = {
        "no pass" if direction == "none" else f"pass {direction}": found
        for direction, found in points.directions.items()
    }
    return [
        first,
        _columns("Points per hand by seat", details.names, by_seat),
        _columns("Points per hand by pass direction", details.names, by_direction),
    ]


def workers_table(workers: Sequence[WorkerReport]) -> Table:
    """What became of each worker's sittings."""
    table = Table(title="Workers", title_style="bold", title_justify="left")
    table.add_column("worker", style="bold", no_wrap=True)
    for heading in ("lost", "with faults", "slow"):
        table.add_column(heading, justify="right", no_wrap=True)
    for worker in workers:
        shares = (worker.lost, worker.faulty, worker.slow)
        cells = (Text(f"{each.bad}/{each.of}", style="red" if each.outlying else "") for each in shares)
        table.add_row(Text(one_line(worker.worker) + (" *" if worker.outlying else "")), *cells)
    table.caption = "of the attempts or sittings that tell; * more than chance allows beside the others"
    table.caption_justify = "left"
    return table


def alarms_table(alarms: Sequence[Alarm]) -> Table:
    """Reports that can't be right."""
    table = Table(title="Alarms", title_style="bold", title_justify="left")
    for heading in ("sitting", "attempt", "reason"):
        table.add_column(heading, justify="right" if heading == "attempt" else "left")
    for alarm in alarms:
        table.add_row(Text(str(alarm.key)), str(alarm.attempt), Text(one_line(alarm.reason)))
    return table


def _columns(title: str, names: Sequence[str], found: Mapping[str, Sequence[Estimate | None]]) -> Table:
    table = Table(title=title, title_style="bold", title_justify="left")
    table.add_column("bot", style="bold", no_wrap=True)
    for heading in found:
        table.add_column(heading, justify="right", no_wrap=True)
    for entrant, name in enumerate(names):
        table.add_row(name, *(estimate(column[entrant]) for column in found.values()))
    return table


def estimate(found: Estimate | None, times: int = 1) -> str:
    """``6.50 ± 0.12``, as far as there is one, so many times."""
    if found is None:
        return "–"
    half = found.half_width
    return plus_minus(times * found.value, None if half is None else times * half)


def moons(found: Estimate | None) -> str:
    """Moons per 100 hands."""
    return "0" if found is not None and not found.value else estimate(found, 100)


def rating(found: Rating) -> str:
    """``+1.30 ± 0.20``, with a question mark while it is provisional."""
    mark = "?" if found.provisional else ""
    return plus_minus(found.value, INTERVAL * found.standard_error, sign="+") + mark


def probability(value: float | None) -> str:
    """``63%``; never 0 or 100, for no number of boards is certain."""
    if value is None:
        return "–"
    return "<1%" if value < 0.01 else ">99%" if value > 0.99 else f"{value:.0%}"
