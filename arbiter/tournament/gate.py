"""A gate's verdict: what the recorded results say, block by block in schedule order, whenever they arrived."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from math import fsum
from typing import Final

from arbiter.errors import InfrastructureError
from arbiter.rating import BoardScore
from arbiter.store import Entrant, Fault, SittingKey, Store
from arbiter.tournament.evidence import board_scores
from arbiter.tournament.gate_planning import BASELINE, CANDIDATE
from arbiter.tournament.gate_terms import MATCHES_PER_TABLE, GateTerms, Unit, hand_range
from arbiter.tournament.replays import BotReport, released_logs
from arbiter.tournament.spec import SpecError, TournamentSpec, lowest_wins
from arbiter.verdict import Answer, Betting, Estimate, Scale, SequentialTest, estimate


class Verdict(StrEnum):
    """What a gate says."""

    PASSED = "passed"  #: better, or not worse
    FAILED = "failed"  #: not better, or worse; or the candidate committed a fault
    NONE = "none"  #: not known


class Reason(StrEnum):
    """Why it says so."""

    BOUND = "bound"  #: the test has its answer
    FAULTS = "faults"  #: the candidate committed a fault
    CAP = "cap"  #: every board that may be played was played, and the test has no answer
    NO_DIFFERENCE = "no difference"  #: the same, and every board came out alike
    STOPPED = "stopped"  #: stopped by hand before the test had an answer
    TIME_LIMIT = "time limit"  #: stopped by the clock before the test had an answer
    INFRASTRUCTURE = "infrastructure"  #: something is missing or broken that is no bot's fault


@dataclass(frozen=True, slots=True)
class GateReport:
    """Everything that a gate's results say so far.

    Attributes:
        gate: the gate's id.
        candidate: name of the bot that has to pass.
        baseline: name of the bot that it is compared with.
        opponents: names of who else sat at the table.
        rules: how the rule set was named.
        terms: question, test and error rates.
        verdict: what the gate says.
        reason: why.
        blocks: complete blocks that count, in schedule order from the first on.
        most_blocks: blocks of the plan.
        boards: boards of those blocks.
        hands: hands of those blocks, both bots' together.
        for_delta1: the test's evidence that the improvement is delta1.
        for_delta0: the same for delta0.
        plain: the plain estimate of the improvement in points per hand, positive where the candidate is better.
        sequence: a 95 % confidence sequence for it, which is valid whenever one stops.
        candidate_points: points per hand of the candidate; None before the first block.
        baseline_points: the same of the baseline.
        candidate_faults: the candidate's faults in those blocks, in schedule order.
        candidate_log: log and ending of the candidate in the sitting of the first of them; None without faults.
        other_faults: faults of the others in those blocks, by name.
        alarms: reports of any sitting that can't be right.
    """

    gate: str
    candidate: str
    baseline: str
    opponents: tuple[str, ...]
    rules: str
    terms: GateTerms
    verdict: Verdict
    reason: Reason
    blocks: int
    most_blocks: int
    boards: int
    hands: int
    for_delta1: Scale
    for_delta0: Scale
    plain: Estimate
    sequence: tuple[float, float]
    candidate_points: float | None
    baseline_points: float | None
    candidate_faults: tuple[tuple[SittingKey, Fault], ...]
    candidate_log: BotReport | None
    other_faults: dict[str, int]
    alarms: int

    def stopped(self, reason: Reason) -> GateReport:
        """The same, with why no verdict came; a verdict that is there stands."""
        return self if self.reason is not Reason.STOPPED else replace(self, reason=reason)


@dataclass(frozen=True, slots=True)
class _Evidence:
    """The blocks that count."""

    test: SequentialTest
    sequence: Betting
    blocks: int = 0
    values: tuple[float, ...] = ()
    """One improvement per board."""
    units: tuple[float, ...] = ()
    """One per observation."""
    hands: int = 0
    points: tuple[Fraction, Fraction] = (Fraction(0), Fraction(0))
    """Sums over boards of points per hand: candidate, baseline."""
    failed: bool = False
    """Whether the candidate committed a fault in them."""


class GateJudge:
    """Reads a gate's results and says when there are enough.

    A block counts as soon as it and all before it are complete. After a verdict no block counts any more. So the
    verdict is a function of the recorded results alone: order of arrival, number of workers and restarts change
    nothing.

    Args:
        store: where the results are.
        gate: the gate's id.
        spec: the gate's spec.
        entrants: its entrants.
        blocks: how many blocks are planned.

    Raises:
        SpecError: it is no gate.
    """

    def __init__(self, store: Store, gate: str, spec: TournamentSpec, entrants: Sequence[Entrant], blocks: int) -> None:
        if spec.gate is None:
            raise SpecError(f"{gate} is a tournament and no gate; go on with: arbiter tournament resume {gate}")
        self._store: Final = store
        self._gate: Final = gate
        self._spec: Final = spec
        self._terms: Final = spec.gate
        self._names: Final = {entrant.index: entrant.name for entrant in entrants}
        self._sides: Final = spec.sides_of(entrants)
        self.blocks: Final = blocks
        """How many blocks are planned."""
        self.block_boards: Final = spec.boards * spec.gate.tables
        """Boards of a block."""
        test = spec.gate.new_test(spec.rules, spec.boards * spec.gate.tables)
        sequence = Betting(spec.gate.hypotheses, hand_range(spec.rules), test.spread)
        self._evidence = _Evidence(test, sequence)
        self.latest: GateReport | None = None
        """The report at the last complete block, for whoever watches; None before the first."""

    @classmethod
    def of(cls, store: Store, gate: str) -> GateJudge:
        """The judge of a gate in the store; raises :class:`arbiter.store.UnknownTournament` and :class:`SpecError`."""
        spec = TournamentSpec.from_dict(store.tournament(gate).spec)
        matches = len(store.matches(gate))
        blocks = matches // spec.gate.matches_per_block if spec.gate is not None else 0
        return cls(store, gate, spec, store.entrants(gate), blocks)

    def enough(self) -> bool:
        """Whether there is a verdict, with everything that was recorded meanwhile.

        Raises:
            InfrastructureError: a sitting of the next block can't be played.
        """
        before = self._evidence.blocks
        self._read()
        if self._evidence.blocks > before:
            self.latest = self.report()
        if self._verdict()[0] is not Verdict.NONE or self._evidence.blocks == self.blocks:
            return True
        for key in self._store.failed(self._gate):
            if key.match // self._terms.matches_per_block == self._evidence.blocks:
                note = self._store.attempts(key)[-1].note
                raise InfrastructureError(f"sitting {key} could not be played: {note}")
        return False

    def report(self) -> GateReport:
        """What the results say now."""
        self._read()
        evidence = self._evidence
        verdict, reason = self._verdict()
        faults = self._faults(range(evidence.blocks))
        mine = tuple((key, fault) for key, fault in faults if fault.entrant in self._sides[CANDIDATE].entrants)
        others = Counter(self._names[fault.entrant] for _, fault in faults)
        others -= Counter(self._names[fault.entrant] for _, fault in mine)
        boards = len(evidence.values)
        return GateReport(
            gate=self._gate,
            candidate=self._sides[CANDIDATE].name,
            baseline=self._sides[BASELINE].name,
            opponents=tuple(side.name for side in self._sides[BASELINE + 1 :]),
            rules=self._spec.rules_name,
            terms=self._terms,
            verdict=verdict,
            reason=reason,
            blocks=evidence.blocks,
            most_blocks=self.blocks,
            boards=boards,
            hands=evidence.hands,
            for_delta1=evidence.test.for_delta1,
            for_delta0=evidence.test.for_delta0,
            plain=estimate(evidence.units),
            sequence=evidence.sequence.interval(),
            candidate_points=float(evidence.points[0] / boards) if boards else None,
            baseline_points=float(evidence.points[1] / boards) if boards else None,
            candidate_faults=mine,
            candidate_log=self._log(mine),
            other_faults=dict(sorted(others.items())),
            alarms=len(self._store.alarms(self._gate)),
        )

    def _verdict(self) -> tuple[Verdict, Reason]:
        evidence = self._evidence
        if evidence.failed:
            return Verdict.FAILED, Reason.FAULTS
        answer = evidence.test.answer
        if answer is not None:
            return (Verdict.PASSED if answer is Answer.DELTA1 else Verdict.FAILED), Reason.BOUND
        if evidence.blocks < self.blocks:
            return Verdict.NONE, Reason.STOPPED
        return Verdict.NONE, Reason.CAP if len(set(evidence.units)) > 1 else Reason.NO_DIFFERENCE

    def _read(self) -> None:
        """Take in the complete blocks that follow, up to the verdict."""
        if self._verdict()[0] is not Verdict.NONE or self._evidence.blocks == self.blocks:
            return
        per_block = self._terms.matches_per_block
        first = self._evidence.blocks
        scores = board_scores(self._store, self._gate, self._spec, self._sides, first_match=first * per_block)
        complete = {score.match for score in scores}
        for block in range(first, self.blocks):
            matches = range(block * per_block, (block + 1) * per_block)
            if not complete.issuperset(matches) or self._verdict()[0] is not Verdict.NONE:
                break
            self._take(block, [score for score in scores if score.match in matches])

    def _take(self, block: int, scores: Sequence[BoardScore]) -> None:
        before = self._evidence
        lowest = lowest_wins(self._spec.rules)
        tested: dict[tuple[int, int], dict[int, Fraction]] = {}
        hands = 0
        for score in scores:
            side = CANDIDATE if score.match % MATCHES_PER_TABLE == 0 else BASELINE
            board = (score.match // MATCHES_PER_TABLE, score.board)
            points = score.points[score.entrants.index(side)]
            tested.setdefault(board, {})[side] = Fraction(points, score.hands)
            hands += score.hands
        pairs = [(both[CANDIDATE], both[BASELINE]) for _, both in sorted(tested.items())]
        values = [float(baseline - candidate if lowest else candidate - baseline) for candidate, baseline in pairs]
        units = values if self._terms.unit is Unit.BOARD else [fsum(values) / len(values)]
        mine = set(self._sides[CANDIDATE].entrants)
        self._evidence = _Evidence(
            test=before.test.after(units),
            sequence=before.sequence.after(units),
            blocks=before.blocks + 1,
            values=(*before.values, *values),
            units=(*before.units, *units),
            hands=before.hands + hands,
            points=(
                before.points[0] + sum(candidate for candidate, _ in pairs),
                before.points[1] + sum(baseline for _, baseline in pairs),
            ),
            failed=any(fault.entrant in mine for _, fault in self._faults(range(block, block + 1))),
        )

    def _faults(self, blocks: range) -> list[tuple[SittingKey, Fault]]:
        per_block = self._terms.matches_per_block
        return [found for found in self._store.faults(self._gate) if found[0].match // per_block in blocks]

    def _log(self, faults: Sequence[tuple[SittingKey, Fault]]) -> BotReport | None:
        if not faults:
            return None
        key, fault = faults[0]
        return next(each for each in released_logs(self._store, key) if each.entrant == fault.entrant)
