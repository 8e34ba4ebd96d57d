"""A gate's report in words: for the terminal, as Markdown, as JUnit XML and as JSON. It is read from the contract's
message, so that a pipeline which asks a service needs the base install alone."""

from __future__ import annotations

import re
from typing import Final
from xml.etree import ElementTree

from arbiter.api.gate.v1 import gate_pb2 as pb
from arbiter.cli.console import one_line
from arbiter.cli.ranking_text import probability

LOG_LINES: Final = 20
"""How much of a failed candidate's log is shown: its last lines."""

FAULT_LINES: Final = 10
"""How many of its faults."""

_NOT_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_CLAIMS: Final = {
    (pb.GATE_MODE_SUPERIORITY, pb.GATE_VERDICT_PASSED): "is better than",
    (pb.GATE_MODE_SUPERIORITY, pb.GATE_VERDICT_FAILED): "is not better than",
    (pb.GATE_MODE_NONINFERIORITY, pb.GATE_VERDICT_PASSED): "is not worse than",
    (pb.GATE_MODE_NONINFERIORITY, pb.GATE_VERDICT_FAILED): "is worse than",
}

_NO_VERDICT: Final = {
    pb.GATE_REASON_CAP: "every board that may be played was played before the test had an answer",
    pb.GATE_REASON_NO_DIFFERENCE: "every board came out alike, so there is nothing to tell them apart by",
    pb.GATE_REASON_STOPPED: "it was stopped before the test had an answer",
    pb.GATE_REASON_TIME_LIMIT: "its time was over before the test had an answer",
    pb.GATE_REASON_INFRASTRUCTURE: "something is missing or broken that is no bot's fault",
}


def headline(report: pb.GateReport) -> str:
    """The verdict in one sentence."""
    if report.reason == pb.GATE_REASON_FAULTS:
        count = len(report.candidate_faults)
        return f"failed: {report.candidate} committed {count} fault{'' if count == 1 else 's'}"
    if report.verdict == pb.GATE_VERDICT_NONE:
        return f"no verdict: {_NO_VERDICT[report.reason]}"
    claim = _CLAIMS[report.terms.mode, report.verdict]
    return f"{word(pb.GateVerdict.Name(report.verdict))}: {report.candidate} {claim} {report.baseline}"


def improvement_text(report: pb.GateReport) -> str:
    """The plain estimate with its intervals."""
    if not report.HasField("improvement"):
        return "no block is complete yet"
    text = f"improvement {report.improvement:+.2f} points per hand"
    if report.HasField("interval"):
        text += f", 95 % interval {_range(report.interval)}"
    return f"{text}, confidence sequence {_range(report.confidence_sequence)}"


def evidence_text(report: pb.GateReport) -> str:
    """The test's evidence and its limits."""
    up, down = report.for_delta1, report.for_delta0
    if report.terms.form == pb.GATE_FORM_SPRT:
        return f"LLR {up.evidence:+.2f}, limits {-down.limit:.2f} and {up.limit:.2f}"
    return (
        f"log-wealth against delta0 {up.evidence:+.2f} of {up.limit:.2f}, "
        f"against delta1 {down.evidence:+.2f} of {down.limit:.2f}"
    )


def figures(report: pb.GateReport) -> list[tuple[str, str]]:
    """What is known, as names and values."""
    known = report.HasField("improvement")
    rows = [("improvement", _signed(report.improvement) if known else "none: no block is complete")]
    if report.HasField("interval"):
        rows.append(("95 % interval", _range(report.interval)))
    if report.HasField("superiority"):
        rows.append(("likelihood of superiority", probability(report.superiority)))
    if report.HasField("confidence_sequence"):
        rows.append(("95 % confidence sequence", f"{_range(report.confidence_sequence)}, valid whenever one stops"))
    if report.HasField("candidate_points"):
        points = f"{report.candidate} {report.candidate_points:.2f}, {report.baseline} {report.baseline_points:.2f}"
        rows.append(("points per hand", points))
    if report.most_blocks:
        rows += _test_figures(report)
    if report.opponents:
        rows.append(("opponents", ", ".join(report.opponents)))
    if report.other_faults:
        others = ", ".join(f"{name} {count}" for name, count in sorted(report.other_faults.items()))
        rows.append(("faults of others", others))
    if report.alarms:
        rows.append(("alarms", f"{report.alarms}: reports that can't be right; see: arbiter tournament workers"))
    return rows


def _test_figures(report: pb.GateReport) -> list[tuple[str, str]]:
    terms = report.terms
    test = "likelihood ratio" if terms.form == pb.GATE_FORM_SPRT else "betting"
    return [
        ("test", f"{test}: {evidence_text(report)}"),
        (
            "hypotheses",
            f"delta0 {terms.delta0:+g}, delta1 {terms.delta1:+g} points per hand, "
            f"alpha {terms.alpha:g}, beta {terms.beta:g}",
        ),
        (
            "played",
            f"{report.boards:,} boards, {report.hands:,} hands of {report.rules}; "
            f"block {report.blocks} of {report.most_blocks} at the most"
            + ("" if terms.unit == pb.GATE_UNIT_BOARD else ", each one observation"),
        ),
    ]


def fault_lines(report: pb.GateReport) -> list[str]:
    """The candidate's first faults, each with its place, and how its process ended."""
    lines = []
    for fault in report.candidate_faults[:FAULT_LINES]:
        where = f" in sitting {fault.sitting}" if fault.sitting else ""
        where += f", board {fault.board}" if fault.HasField("board") else ""
        where += f", trick {fault.trick}" if fault.HasField("trick") else ""
        lines.append(one_line(f"{fault.code}{where}: {fault.detail}"))
    if len(report.candidate_faults) > FAULT_LINES:
        lines.append(f"... and {len(report.candidate_faults) - FAULT_LINES} more")
    if report.candidate_log.ending:
        lines.append(one_line(f"its process: {report.candidate_log.ending}"))
    return lines


def log_lines(report: pb.GateReport) -> list[str]:
    """The last lines of the candidate's log, from the sitting of its first fault."""
    return [one_line(line) for line in report.candidate_log.log.splitlines()[-LOG_LINES:]]


def plain_text(report: pb.GateReport) -> str:
    """Everything, as indented lines."""
    rows = figures(report)
    width = max(len(name) for name, _ in rows)
    lines = [headline(report), *(f"  {name:<{width}}  {value}" for name, value in rows)]
    lines += [f"  {line}" for line in fault_lines(report)]
    if log := log_lines(report):
        lines += ["  its log:", *(f"    {line}" for line in log)]
    return "\n".join(lines)


def markdown(report: pb.GateReport, trouble: str | None = None) -> str:
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


def junit(report: pb.GateReport, seconds: float, trouble: str | None = None) -> str:
    """JUnit XML with two cases: that the candidate commits no fault, and the gate's question.

    Args:
        report: what there is to say.
        seconds: wall time of the run.
        trouble: what of the infrastructure failed, if it did.
    """
    faultless = ElementTree.Element(
        "testcase", classname="arbiter.gate", name=f"{report.candidate} commits no fault", time="0"
    )
    claim = _CLAIMS[report.terms.mode, pb.GATE_VERDICT_PASSED]
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
    elif report.verdict == pb.GATE_VERDICT_FAILED and report.reason == pb.GATE_REASON_BOUND:
        mark(question, "failure", "failures", f"{headline(report)}: {improvement_text(report)}")
    elif report.verdict != pb.GATE_VERDICT_PASSED:
        mark(question, "skipped", "skipped", f"{headline(report)}: {improvement_text(report)}")
    ElementTree.SubElement(question, "system-out").text = _clean(plain_text(report))
    counts = {"tests": "2", **{name: str(count) for name, count in outcomes.items()}}
    suites = ElementTree.Element("testsuites", counts, time=f"{seconds:.1f}")
    suite = ElementTree.SubElement(suites, "testsuite", counts, name="arbiter gate", time=f"{seconds:.1f}")
    suite.extend([faultless, question])
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def to_dict(report: pb.GateReport) -> dict[str, object]:
    """Plain data for ``--json``: numbers unrounded."""

    def known(name: str) -> float | None:
        return getattr(report, name) if report.HasField(name) else None  # type: ignore[arg-type]  # one of its fields

    terms = report.terms
    log = report.candidate_log if report.HasField("candidate_log") else None
    return {
        "gate": report.gate,
        "candidate": report.candidate,
        "baseline": report.baseline,
        "opponents": list(report.opponents),
        "rules": report.rules,
        "mode": word(pb.GateMode.Name(terms.mode)),
        "form": word(pb.GateForm.Name(terms.form)),
        "unit": word(pb.GateUnit.Name(terms.unit)),
        "delta0": terms.delta0,
        "delta1": terms.delta1,
        "alpha": terms.alpha,
        "beta": terms.beta,
        "tables": report.tables,
        "verdict": word(pb.GateVerdict.Name(report.verdict)),
        "reason": word(pb.GateReason.Name(report.reason)),
        "blocks": report.blocks,
        "most_blocks": report.most_blocks,
        "boards": report.boards,
        "hands": report.hands,
        "evidence_for_delta1": {"value": report.for_delta1.evidence, "limit": report.for_delta1.limit},
        "evidence_for_delta0": {"value": report.for_delta0.evidence, "limit": report.for_delta0.limit},
        "improvement": known("improvement"),
        "standard_error": known("standard_error"),
        "superiority": known("superiority"),
        "interval_95": [report.interval.low, report.interval.high] if report.HasField("interval") else None,
        "confidence_sequence_95": [report.confidence_sequence.low, report.confidence_sequence.high],
        "candidate_points_per_hand": known("candidate_points"),
        "baseline_points_per_hand": known("baseline_points"),
        "candidate_faults": [
            {
                "sitting": fault.sitting or None,
                "code": fault.code,
                "board": fault.board if fault.HasField("board") else None,
                "hand": fault.hand if fault.HasField("hand") else None,
                "trick": fault.trick if fault.HasField("trick") else None,
                "detail": fault.detail,
            }
            for fault in report.candidate_faults
        ],
        "candidate_log": None if log is None else {"ending": log.ending or None, "log": log.log},
        "other_faults": dict(sorted(report.other_faults.items())),
        "alarms": report.alarms,
    }


def word(name: str) -> str:
    """The name of a value of the contract's enums of gates, as people write it: ``GATE_REASON_TIME_LIMIT`` is
    ``time limit``."""
    return name.split("_", 2)[2].lower().replace("_", " ")


def _signed(value: float) -> str:
    return f"{value:+.3f} points per hand"


def _range(interval: pb.Interval) -> str:
    return f"{interval.low:+.2f} to {interval.high:+.2f}"


def _clean(text: str) -> str:
    """Without what XML 1.0 can't hold."""
    return _NOT_XML.sub("\ufffd", text)


def _escaped(text: str) -> str:
    """For a cell or a heading of Markdown: nothing of it is read as markup."""
    return re.sub(r"([\\`*_{}\[\]<>#|!~])", r"\\\1", text)
