"""Where a gate's report goes, and the exit status that follows from it. Needs the base install alone."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from arbiter.api.gate.v1 import gate_pb2 as pb
from arbiter.cli.console import output, print_json
from arbiter.cli.gate_text import junit, markdown, plain_text, to_dict

EXIT_STATUS: Final = {pb.GATE_VERDICT_PASSED: 0, pb.GATE_VERDICT_FAILED: 1, pb.GATE_VERDICT_NONE: 3}
"""The exit status of each verdict."""


@dataclass(frozen=True, slots=True)
class Outputs:
    """Where a gate's report goes beside standard output, and how long it may take.

    Attributes:
        junit: file for JUnit XML.
        markdown: file for Markdown.
        time_limit: seconds after which there is no verdict.
    """

    junit: Path | None
    markdown: Path | None
    time_limit: float | None


def tell(
    report: pb.GateReport, outputs: Outputs, seconds: float, *, json: bool = False, trouble: str | None = None
) -> int:
    """Say the verdict in every form that is asked for; returns the exit status.

    Args:
        report: what there is to say.
        outputs: where to.
        seconds: wall time of the run.
        json: whether standard output gets JSON.
        trouble: what of the infrastructure failed, if it did.
    """
    if outputs.junit is not None:
        outputs.junit.write_text(junit(report, seconds, trouble), "utf-8")
    text = markdown(report, trouble)
    if outputs.markdown is not None:
        outputs.markdown.write_text(text, "utf-8")
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        with Path(summary).open("a", encoding="utf-8") as file:
            file.write(text)
    if json:
        print_json(to_dict(report))
    elif trouble is None:
        output.print(plain_text(report), markup=False, highlight=False, soft_wrap=True)
    return EXIT_STATUS[report.verdict]
