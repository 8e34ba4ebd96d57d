"""A gate's report in words: for the terminal, as Markdown, and as JUnit XML."""

from __future__ import annotations

import re
from typing import Final
from xml.etree import ElementTree

from arbiter.cli.console import one_line
from arbiter.tournament.gate import GateReport, Reason, Verdict
from arbiter.tournament.gate_terms import Form, Mode, Unit

LOG_LINES: Final = 20
"""How much of a failed candidate's log is shown: its last lines."""

FAULT_LINES: Final = 10
"""How many of its faults."""

_NOT_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_CLAIMS: Final = {
    (Mode.SUPERIORITY, Verdict.PASSED): "is better than",
    (Mode.SUPERIORITY, Verdict.FAILED): "is not better than",
    (Mode.NONINFERIORITY, Verdict.PASSED): "is not worse than",
    (Mode.NONINFERIORITY, Verdict.FAILED): "is worse than",
}

_NO_VERDICT: Final = {
    Reason.CAP: "every board that may be played was played before the test had an answer",
    Reason.NO_DIFFERENCE: "every board came out alike, so there is nothing to tell them apart by",
    Reason.STOPPED: "it was stopped before the test had an answer",
    Reason.TIME_LIMIT: "its time was over before the test had an answer",
    Reason.INFRASTRUCTURE: "something is missing or broken that is no bot's fault",
}


def headline(report: GateReport) -> str:
    """The verdict in one sentence."""
    if report.reason is Reason.FAULTS:
        count = len(report.candidate_faults)
        return f"failed: {report.candidate} committed {count} fault{'' if count == 1 else 's'}"
    if report.verdict is Verdict.NONE:
        return f"no verdict: {_NO_VERDICT[report.reason]}"
    return f"{report.verdict}: {report.candidate} {_CLAIMS[report.terms.mode, report.verdict]} {report.baseline}"


def improvement_text(report: GateReport) -> str:
    """The plain estimate with its intervals."""
    if report.plain.mean is None:
        return "no block is complete yet"
    text = f"improvement {report.plain.mean:+.2f} points per hand"
    if report.plain.interval is not None:
        text += f", 95 % interval {_range(report.plain.interval)}"
    return f"{text}, confidence sequence {_range(report.sequence)}"


def evidence_text(report: GateReport) -> str:
    """The test's evidence and its limits."""
    up, down = report.for_delta1, report.for_delta0
    if report.terms.form is Form.SPRT:
        return f"LLR {up.evidence:+.2f}, limits {-down.limit:.2f} and {up.limit:.2f}"
    return (
        f"log-wealth against delta0 {up.evidence:+.2f} of {up.limit:.2f}, "
        f"against delta1 {down.evidence:+.2f} of {down.limit:.2f}"
    )


def figures(report: GateReport) -> list[tuple[str, str]]:
    """What is known, as names and values."""
    terms, hypotheses = report.terms, report.terms.hypotheses
    rows = [("improvement", "none: no block is complete" if report.plain.mean is None else _signed(report.plain.mean))]
    if report.plain.interval is not None:
        rows.append(("95 % interval", _range(report.plain.interval)))
    rows.append(("95 % confidence sequence", f"{_range(report.sequence)}, valid whenever one stops"))
    if report.candidate_points is not None and report.baseline_points is not None:
        points = f"{report.candidate} {report.candidate_points:.2f}, {report.baseline} {report.baseline_points:.2f}"
        rows.append(("points per hand", points))
    test = "likelihood ratio" if terms.form is Form.SPRT else "betting"
    rows += [
        ("test", f"{test}: {evidence_text(report)}"),
        (
            "hypotheses",
            f"delta0 {hypotheses.delta0:+g}, delta1 {hypotheses.delta1:+g} points per hand, "
            f"alpha {hypotheses.alpha:g}, beta {hypotheses.beta:g}",
        ),
        (
            "played",
            f"{report.boards:,} boards, {report.hands:,} hands of {report.rules}; "
            f"block {report.blocks} of {report.most_blocks} at the most"
            + ("" if terms.unit is Unit.BOARD else ", each one observation"),
        ),
        ("opponents", ", ".join(report.opponents)),
    ]
    if report.other_faults:
        others = ", ".join(f"{name} {count}" for name, count in report.other_faults.items())
        rows.append(("faults of others", others))
    if report.alarms:
        rows.append(("alarms", f"{report.alarms}: reports that can't be right; see: arbiter tournament workers"))
    return rows


def fault_lines(report: GateReport) -> list[str]:
    """The candidate's first faults, each with its place, and how its process ended."""
    lines = []
    for key, fault in report.candidate_faults[:FAULT_LINES]:
        where = "" if fault.board is None else f", board {fault.board}"
        where += "" if fault.trick is None else f", trick {fault.trick}"
        lines.append(one_line(f"{fault.code} in sitting {key}{where}: {fault.detail}"))
    if len(report.candidate_faults) > FAULT_LINES:
        lines.append(f"... and {len(report.candidate_faults) - FAULT_LINES} more")
    if report.candidate_log is not None and report.candidate_log.ending is not None:
        lines.append(one_line(f"its process: {report.candidate_log.ending}"))
    return lines


def log_lines(report: GateReport) -> list[str]:
    """The last lines of the candidate's log, from the sitting of its first fault."""
    if report.candidate_log is None:
        return []
    return [one_line(line) for line in report.candidate_log.log.splitlines()[-LOG_LINES:]]


def plain_text(report: GateReport) -> str:
    """Everything, as indented lines."""
    rows = figures(report)
    width = max(len(name) for name, _ in rows)
    lines = [headline(report), *(f"  {name:<{width}}  {value}" for name, value in rows)]
    lines += [f"  {line}" for line in fault_lines(report)]
    if log := log_lines(report):
        lines += ["  its log:", *(f"    {line}" for line in log)]
    return "\n".join(lines)


def markdown(report: GateReport, trouble: str | None = None) -> str:
    """A section for a pipeline's summary, with an empty line at its end."""
    lines = [f"### {_escaped(headline(report))}", ""]
    if trouble:
        lines += [_escaped(one_line(trouble)), ""]
    lines += ["| | |", "|---|---|", *(f"| {name} | {_escaped(value)} |" for name, value in figures(report))]
    for title, block in (("Faults", fault_lines(report)), ("Log", log_lines(report))):
        if block:
            # Longer than any run of the fence's letter inside, so that what a bot wrote can't end it.
            fence = "`" * max(3, 1 + max((len(run) for line in block for run in re.findall("`+", line)), default=0))
            lines += ["", f"{title}:", "", fence, *block, fence]
    return "\n".join([*lines, "", ""])


def junit(report: GateReport, seconds: float, trouble: str | None = None) -> str:
    """JUnit XML with two cases: that the candidate commits no fault, and the gate's question.

    Args:
        report: what there is to say.
        seconds: wall time of the run.
        trouble: what of the infrastructure failed, if it did.
    """
    faultless = ElementTree.Element(
        "testcase", classname="arbiter.gate", name=f"{report.candidate} commits no fault", time="0"
    )
    claim = _CLAIMS[report.terms.mode, Verdict.PASSED]
    question = ElementTree.Element(
        "testcase",
        classname="arbiter.gate",
        name=f"{report.candidate} {claim} {report.baseline}",
        time=f"{seconds:.1f}",
    )
    outcomes = {"failures": 0, "errors": 0, "skipped": 0}

    def mark(case: ElementTree.Element, kind: str, counter: str, message: str) -> None:
        outcomes[counter] += 1
        found = ElementTree.SubElement(case, kind, message=_clean(message))
        found.text = _clean(plain_text(report))

    if report.candidate_faults:
        mark(faultless, "failure", "failures", headline(report))
        ElementTree.SubElement(faultless, "system-err").text = _clean("\n".join(log_lines(report)))
    if trouble:
        mark(question, "error", "errors", trouble)
    elif report.verdict is Verdict.FAILED and report.reason is Reason.BOUND:
        mark(question, "failure", "failures", f"{headline(report)}: {improvement_text(report)}")
    elif report.verdict is not Verdict.PASSED:
        mark(question, "skipped", "skipped", f"{headline(report)}: {improvement_text(report)}")
    ElementTree.SubElement(question, "system-out").text = _clean(plain_text(report))
    counts = {"tests": "2", **{name: str(count) for name, count in outcomes.items()}}
    suites = ElementTree.Element("testsuites", counts, time=f"{seconds:.1f}")
    suite = ElementTree.SubElement(suites, "testsuite", counts, name="arbiter gate", time=f"{seconds:.1f}")
    suite.extend([faultless, question])
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def _signed(value: float) -> str:
    return f"{value:+.3f} points per hand"


def _range(interval: tuple[float, float]) -> str:
    return f"{interval[0]:+.2f} to {interval[1]:+.2f}"


def _clean(text: str) -> str:
    """Without what XML 1.0 can't hold."""
    return _NOT_XML.sub("\ufffd", text)


def _escaped(text: str) -> str:
    """For a cell or a heading of Markdown: nothing of it is read as markup."""
    return re.sub(r"([\\`*_{}\[\]<>#|!~])", r"\\\1", text)
