"""Tables of results, for the terminal."""

from __future__ import annotations

from collections import Counter

from rich.table import Table
from rich.text import Text

from arbiter.tournament import TournamentReport


def standings_table(report: TournamentReport, title: str | None = None) -> Table:
    """Standings, best first: points per hand with their standard error, mean place, rating, faults."""
    direction = "fewer is better" if report.lowest_wins else "more is better"
    table = Table(title=title or f"Standings of {report.tournament.id}", title_style="bold", title_justify="left")
    table.add_column("", justify="right")
    table.add_column("bot" if report.spec.sides is None else "side", style="bold", no_wrap=True)
    table.add_column("points per hand", justify="right", no_wrap=True)
    table.add_column("mean place", justify="right")
    table.add_column("rating", justify="right", no_wrap=True)
    table.add_column("hands", justify="right")
    table.add_column("faults", justify="right")
    for row in report.rows:
        standing = row.standing
        faults = sum(row.faults.values())
        table.add_row(
            str(standing.rank) if standing.points_per_hand is not None else "",
            row.name,
            value_and_error(standing.points_per_hand, standing.standard_error),
            "" if standing.mean_place is None else f"{standing.mean_place:.2f}",
            f"{row.rating.mu:.1f} ± {row.rating.sigma:.1f}",
            f"{standing.hands:,}",
            Text(str(faults), style="red" if faults else "dim"),
        )
    table.caption = (
        f"± one standard error over boards, {direction}; rating ± sigma, from places in matches, more is better"
    )
    table.caption_justify = "left"
    return table


def crosstable_table(report: TournamentReport) -> Table:
    """Each pair's difference in points per hand, positive where the bot of the row is better."""
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
            error = pairing.standard_error
            sure = error is not None and abs(pairing.difference) > 2 * error
            style = ("green" if pairing.difference > 0 else "red") if sure else ""
            cells.append(Text(value_and_error(pairing.difference, error, sign=True), style=style))
        table.add_row(Text(report.names[one], style="bold"), *cells)
    table.caption = "± one standard error; coloured beyond two; positive: the row's bot is better"
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


def value_and_error(value: float | None, error: float | None, sign: bool = False) -> str:
    """``6.50 ± 0.12``, as far as there is one."""
    if value is None:
        return "–"
    shown = f"{value:+.2f}" if sign else f"{value:.2f}"
    return shown if error is None else f"{shown} ± {error:.2f}"
