"""How far a gate is: the evidence, its limits, and the estimate so far. Needs the base install alone."""

from __future__ import annotations

from rich.console import RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from arbiter.api.gate.v1 import gate_pb2 as pb
from arbiter.cli.gate_text import evidence_text, improvement_text


def gate_line(report: pb.GateReport) -> str:
    """A gate's state in one line."""
    return f"{report.boards:,} boards: {improvement_text(report)}; {evidence_text(report)}"


def gate_picture(report: pb.GateReport | None) -> list[RenderableType]:
    """A gate's state as bars and lines; None before its first block."""
    if report is None or not report.blocks:
        return [Text("playing the first block", style="dim")]
    rows = Table.grid(padding=(0, 2))
    for name, scale in (("for delta0", report.for_delta0), ("for delta1", report.for_delta1)):
        share = min(1.0, max(0.0, scale.evidence / scale.limit))
        bar = ProgressBar(total=1.0, completed=share, width=30)
        rows.add_row(name, bar, f"{scale.evidence:+.2f} of {scale.limit:.2f}")
    return [
        rows,
        Text(f"{report.boards:,} boards, block {report.blocks} of {report.most_blocks} at the most"),
        Text(improvement_text(report)),
    ]
