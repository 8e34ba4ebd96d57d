"""Between gates and their messages in the contract."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from arbiter.api.gate.v1 import gate_pb2 as pb
from arbiter.api.tournament.v1 import tournament_pb2
from arbiter.errors import UsageError
from arbiter.store import Fault as RecordedFault
from arbiter.store import SittingKey, Tournament
from arbiter.tournament.gate import GateReport
from arbiter.tournament.gate_terms import Form, GateTerms, Mode, Unit
from arbiter.tournament.replays import BotReport
from arbiter.verdict import Scale

T = TypeVar("T")


def report_message(report: GateReport, *, with_log: bool = True) -> pb.GateReport:
    """A report as a message.

    Args:
        report: what a gate's results say.
        with_log: whether the candidate's log is in it, which is its owner's and the host's alone.
    """
    message = pb.GateReport(
        gate=report.gate,
        candidate=report.candidate,
        baseline=report.baseline,
        opponents=report.opponents,
        rules=report.rules,
        terms=_terms_message(report.terms),
        tables=report.terms.tables,
        verdict=pb.GateVerdict.Value(f"GATE_VERDICT_{report.verdict.name}"),
        reason=pb.GateReason.Value(f"GATE_REASON_{report.reason.name}"),
        blocks=report.blocks,
        most_blocks=report.most_blocks,
        boards=report.boards,
        hands=report.hands,
        for_delta1=_scale(report.for_delta1),
        for_delta0=_scale(report.for_delta0),
        improvement=report.plain.mean,
        standard_error=report.plain.standard_error,
        interval=None if report.plain.interval is None else _interval(report.plain.interval),
        superiority=report.plain.superiority,
        confidence_sequence=_interval(report.sequence),
        candidate_points=report.candidate_points,
        baseline_points=report.baseline_points,
        candidate_faults=[_fault(key, fault) for key, fault in report.candidate_faults],
        other_faults=report.other_faults,
        alarms=report.alarms,
    )
    if with_log and report.candidate_log is not None:
        message.candidate_log.CopyFrom(_log(report.candidate_log))
    return message


def gate_message(tournament: Tournament, owner: str, report: pb.GateReport) -> pb.Gate:
    """A gate as a message."""
    message = pb.Gate(
        id=tournament.id,
        state=tournament_pb2.TournamentState.Value(f"TOURNAMENT_STATE_{tournament.state.name}"),
        failure=tournament.failure or "",
        owner=owner,
        report=report,
    )
    message.create_time.FromDatetime(tournament.created_at)
    return message


def read_mode(mode: pb.GateMode.ValueType) -> Mode:
    """The question that a message names; raises `UsageError` for one that this service does not know."""
    return _named(
        mode,
        {
            pb.GATE_MODE_UNSPECIFIED: Mode.SUPERIORITY,
            pb.GATE_MODE_SUPERIORITY: Mode.SUPERIORITY,
            pb.GATE_MODE_NONINFERIORITY: Mode.NONINFERIORITY,
        },
        "mode",
    )


def read_form(form: pb.GateForm.ValueType) -> Form:
    """The test that a message names; raises likewise."""
    return _named(
        form,
        {
            pb.GATE_FORM_UNSPECIFIED: Form.SPRT,
            pb.GATE_FORM_SPRT: Form.SPRT,
            pb.GATE_FORM_BETTING: Form.BETTING,
        },
        "form",
    )


def read_unit(unit: pb.GateUnit.ValueType) -> Unit:
    """The unit that a message names; raises likewise."""
    return _named(
        unit,
        {
            pb.GATE_UNIT_UNSPECIFIED: Unit.BOARD,
            pb.GATE_UNIT_BOARD: Unit.BOARD,
            pb.GATE_UNIT_BLOCK: Unit.BLOCK,
        },
        "unit",
    )


def _named(number: int, known: Mapping[Any, T], what: str) -> T:
    if number not in known:
        raise UsageError(f"terms.{what}: is {number}, which this service does not know; leave it out for the usual one")
    return known[number]


def _terms_message(terms: GateTerms) -> pb.GateTerms:
    return pb.GateTerms(
        mode=pb.GateMode.Value(f"GATE_MODE_{terms.mode.name}"),
        form=pb.GateForm.Value(f"GATE_FORM_{terms.form.name}"),
        unit=pb.GateUnit.Value(f"GATE_UNIT_{terms.unit.name}"),
        delta0=terms.hypotheses.delta0,
        delta1=terms.hypotheses.delta1,
        alpha=terms.hypotheses.alpha,
        beta=terms.hypotheses.beta,
    )


def _scale(scale: Scale) -> pb.Scale:
    return pb.Scale(evidence=scale.evidence, limit=scale.limit)


def _interval(ends: tuple[float, float]) -> pb.Interval:
    return pb.Interval(low=ends[0], high=ends[1])


def _fault(key: SittingKey, fault: RecordedFault) -> pb.GateFault:
    return pb.GateFault(
        sitting=str(key), code=fault.code, board=fault.board, hand=fault.hand, trick=fault.trick, detail=fault.detail
    )


def _log(found: BotReport) -> pb.GateLog:
    return pb.GateLog(ending=found.ending or "", log=found.log)
