"""Gates without processes: their plan, what is kept secret how long, and a verdict that only the results decide."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from arbiter.deals import commitment, derive_deal_seed
from arbiter.engine import rule_set
from arbiter.errors import InfrastructureError
from arbiter.store import (
    SittingKey,
    Store,
    TournamentState,
)
from arbiter.tournament import Desk, SpecError, TournamentSpec, report
from arbiter.tournament.gate import GateJudge, GateReport, Reason, Verdict
from arbiter.tournament.gate_planning import opponent_groups, plan_gate
from arbiter.tournament.gate_request import gate_spec
from arbiter.tournament.gate_terms import Form, GateTerms, Mode, Unit, hand_range, usual_hypotheses
from arbiter.tournament.judges import Judges
from arbiter.tournament.replays import NotReleased, published_deals, released_replay
from arbiter.verdict import Hypotheses, VerdictError
from tests.tournament import support
from tests.tournament.gates import GATE, Points, better, create, entered, even, make_bots, record, request_of, worse
from tests.tournament.support import START, Lowest, Revoker, granted


@pytest.fixture
def target(tmp_path: Path) -> str:
    """One kind of database will do: a verdict is worked out from what other tests read from both."""
    return str(tmp_path / "arbiter.db")


@pytest.fixture
def bots(tmp_path: Path) -> Callable[..., list[Path]]:
    """Makes folders of bots with these names."""
    return partial(make_bots, tmp_path)


def plain_spec(bots: Callable[..., list[Path]], **rest: Any) -> TournamentSpec:
    return gate_spec(request_of(bots("new", "old", "x", "y", "z"), **rest))


# -- the plan ----------------------------------------------------------------------------------------------------------


def test_both_matches_of_a_pair_have_one_deal_set_and_the_same_opponents(bots: Callable[..., list[Path]]) -> None:
    spec = plain_spec(bots, boards=5)
    tournament, matches = plan_gate(GATE, spec, entered(spec), 3, START)
    assert [match.entrants for match in matches] == [(0, 2, 3, 4), (1, 2, 3, 4)] * 3
    assert [match.boards for match in matches] == [5] * 6
    for number in range(3):
        candidate, baseline = matches[2 * number : 2 * number + 2]
        assert candidate.deal_seed == baseline.deal_seed == derive_deal_seed(tournament.deal_seed, number)
        assert candidate.commitment == baseline.commitment == commitment(candidate.deal_seed)
    assert len({match.commitment for match in matches}) == 3


def test_everyone_draws_the_same_random_numbers_in_both_matches(
    bots: Callable[..., list[Path]], store: Store, desk: Desk
) -> None:
    create(store, plain_spec(bots), 2)
    seeds = {}
    for key in store.planned(GATE):
        plan = granted(desk, str(key)).plan
        seeds[key.match, key.sitting] = [bot.bot_seed for bot in plan.bots]
    assert all(seeds[0, sitting] == seeds[1, sitting] for sitting in range(4))
    different = {seed for match in (0, 2) for sitting in range(4) for seed in seeds[match, sitting]}
    assert len(different) == 2 * 4 * 4


@pytest.mark.parametrize(
    ("opponents", "seats", "expected"),
    [
        (3, 3, [(0, 1, 2)]),
        (4, 3, [(0, 1, 2), (3, 0, 1), (2, 3, 0), (1, 2, 3)]),
        (6, 3, [(0, 1, 2), (3, 4, 5)]),
        (2, 1, [(0,), (1,)]),
    ],
)
def test_a_block_meets_every_opponent_equally_often(
    opponents: int, seats: int, expected: list[tuple[int, ...]]
) -> None:
    assert opponent_groups(opponents, seats) == expected


def test_a_large_field_plays_a_deal_set_for_each_group(bots: Callable[..., list[Path]]) -> None:
    spec = gate_spec(request_of(bots("new", "old", "a", "b", "c", "d", "e", "f")))
    assert spec.gate is not None
    assert spec.gate.matches_per_block == 4
    _, matches = plan_gate(GATE, spec, entered(spec), 2, START)
    assert [match.entrants for match in matches] == 2 * [(0, 2, 3, 4), (1, 2, 3, 4), (0, 5, 6, 7), (1, 5, 6, 7)]
    assert [len({match.deal_seed for match in matches[at : at + 2]}) for at in range(0, 8, 2)] == [1] * 4
    assert len({match.deal_seed for match in matches}) == 4


def test_names_are_told_apart_and_a_small_field_is_entered_again(bots: Callable[..., list[Path]]) -> None:
    spec = gate_spec(request_of(bots("mine", "mine", "careful", "mine")))
    names = [entrant.name for entrant in spec.entrants]
    assert names == ["mine", "mine@baseline", "careful", "mine-2", "careful-2"]


def test_partners_are_copies_of_one_bot(bots: Callable[..., list[Path]]) -> None:
    spec = gate_spec(request_of(bots("new", "old", "x"), rules={"name": "partnership"}))
    _, matches = plan_gate(GATE, spec, entered(spec), 1, START)
    names = [entrant.name for entrant in spec.entrants]
    assert names == ["new", "new-partner", "old", "old-partner", "x", "x-partner"]
    folders = [entrant.folder for entrant in spec.entrants]
    assert folders[::2] == folders[1::2]
    # Places 0 and 2 are one side.
    assert [match.entrants for match in matches] == [(0, 4, 1, 5), (2, 4, 3, 5)]


@pytest.mark.parametrize(("rules", "seats"), [("black_maria_3", 3), ("cancellation", 6)])
def test_other_numbers_of_seats(bots: Callable[..., list[Path]], rules: str, seats: int) -> None:
    spec = gate_spec(request_of(bots("new", "old", "x"), rules={"name": rules}))
    _, matches = plan_gate(GATE, spec, entered(spec), 1, START)
    assert [match.entrants[0] for match in matches] == [0, 1]
    assert {len(match.entrants) for match in matches} == {seats}


def test_a_spec_comes_back_from_the_store_as_it_went_in(bots: Callable[..., list[Path]]) -> None:
    spec = plain_spec(bots, mode=Mode.NONINFERIORITY, form=Form.BETTING, unit=Unit.BLOCK, alpha=0.01)
    assert TournamentSpec.from_dict(spec.to_dict()).gate == spec.gate
    assert spec.gate == GateTerms(
        Mode.NONINFERIORITY, Form.BETTING, Unit.BLOCK, Hypotheses(-0.5, 0.0, 0.01, 0.05), tables=1
    )
    without = spec.to_dict()
    del without["gate"]
    assert TournamentSpec.from_dict(without).gate is None


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ("black_lady", 26),
        ("black_lady_new_moon", 52),  # 26 for a queen and all hearts, or 26 less
        ("original_1880", 13),
        ("omnibus", 36),  # the jack of diamonds takes 10 away
        ("partnership", 52),  # an old moon charges both partners
    ],
)
def test_what_a_hand_can_cost(rules: str, expected: int) -> None:
    assert hand_range(rule_set(rules)) == expected


def test_usual_hypotheses_are_in_proportion_to_the_points() -> None:
    assert usual_hypotheses(Mode.SUPERIORITY, rule_set("black_lady")) == (0.0, 0.5)
    assert usual_hypotheses(Mode.NONINFERIORITY, rule_set("black_lady")) == (-0.5, 0.0)
    assert usual_hypotheses(Mode.SUPERIORITY, rule_set("original_1880")) == (0.0, 0.25)


def test_impossible_gates_are_refused(bots: Callable[..., list[Path]], store: Store) -> None:
    folders = bots("new", "old", "x", "y", "z")
    with pytest.raises(SpecError, match="opponents: there are none"):
        gate_spec(request_of(folders[:2]))
    with pytest.raises(SpecError, match="blak_lady"):
        gate_spec(request_of(folders, rules={"name": "blak_lady"}))
    with pytest.raises(VerdictError, match="delta0 has to be below delta1"):
        gate_spec(request_of(folders, delta0=0.6))
    with pytest.raises(VerdictError, match="between -26 and 26"):
        gate_spec(request_of(folders, delta1=30.0, form=Form.BETTING))
    spec = gate_spec(request_of(folders))
    with pytest.raises(SpecError, match="too few for one block, which has 2"):
        plan_gate(GATE, spec, entered(spec), 0, START)
    support.create(store)
    with pytest.raises(SpecError, match=f"{support.ID} is a tournament and no gate"):
        GateJudge.of(store, support.ID)


# -- what is kept secret -----------------------------------------------------------------------------------------------


def test_nothing_of_a_deal_set_is_shown_before_both_matches_are_over(
    bots: Callable[..., list[Path]], store: Store
) -> None:
    create(store, plain_spec(bots), 2)
    keys = store.planned(GATE)
    record(store, keys[:7], better)
    assert [deals.deal_seed for deals in published_deals(store, GATE).deal_sets] == [None] * 4
    with pytest.raises(NotReleased):
        released_replay(store, keys[0])
    assert report(store, GATE).rows[0].standing.boards == 0
    assert GateJudge.of(store, GATE).report().blocks == 0
    record(store, keys[7:8], better)
    seeds = [deals.deal_seed for deals in published_deals(store, GATE).deal_sets]
    assert seeds[0] is not None
    assert seeds == [seeds[0], seeds[0], None, None]
    assert published_deals(store, GATE).seed is None
    store.set_state(GATE, TournamentState.COMPLETED, now=START)
    assert published_deals(store, GATE).seed is None, "what was not played stays unknown"
    assert GateJudge.of(store, GATE).report().blocks == 1


# -- the verdict -------------------------------------------------------------------------------------------------------


def judged(store: Store) -> GateReport:
    return GateJudge.of(store, GATE).report()


@pytest.mark.parametrize("form", Form)
@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize(("points", "verdict"), [(better, Verdict.PASSED), (worse, Verdict.FAILED)])
def test_a_clear_difference_is_found(
    bots: Callable[..., list[Path]], store: Store, form: Form, mode: Mode, points: Points, verdict: Verdict
) -> None:
    judge = create(store, plain_spec(bots, boards=12, form=form, mode=mode), 6)
    played = 0
    while not judge.enough():
        record(store, store.planned(GATE, limit=1), points)
        played += 1
    found = judge.report()
    assert (found.verdict, found.reason) == (verdict, Reason.BOUND)
    assert 1 < found.blocks < 6
    assert played == 8 * found.blocks, "nothing beyond the verdict was needed"
    assert found.plain.mean is not None
    assert (found.plain.mean > 0) == (verdict is Verdict.PASSED)
    assert judge.latest == found == judged(store)


@pytest.mark.parametrize(("rules", "sign"), [("black_lady", 1), ("bga", 1), ("reverse", -1)])
def test_fewer_points_are_better_unless_the_rules_say_otherwise(
    bots: Callable[..., list[Path]], store: Store, rules: str, sign: int
) -> None:
    create(store, plain_spec(bots, rules={"name": rules}), 1)
    start, way = rule_set(rules).start, rule_set(rules).sign

    def total(match: int, board: int, entrant: int) -> int:
        return start + way * better(match, board, entrant)

    record(store, store.planned(GATE), total)
    found = judged(store)
    assert found.baseline_points == 10
    assert found.plain.mean == pytest.approx(sign * (10 - (found.candidate_points or 0)))


def test_a_side_is_compared_by_the_points_of_both_partners(bots: Callable[..., list[Path]], store: Store) -> None:
    create(store, gate_spec(request_of(bots("new", "old", "x"), rules={"name": "partnership"})), 1)
    record(store, store.planned(GATE), lambda match, board, entrant: entrant)
    found = judged(store)
    assert (found.candidate_points, found.baseline_points) == (0 + 1, 2 + 3)
    assert found.plain.mean == 4
    assert found.hands == 2 * 2 * 4


def test_neither_order_of_arrival_nor_what_came_after_changes_the_verdict(
    bots: Callable[..., list[Path]], store: Store, tmp_path: Path
) -> None:
    # https://github.com/official-stockfish/fishtest/issues/2582
    spec = plain_spec(bots, boards=12)
    create(store, spec, 4)

    def turning(match: int, board: int, entrant: int) -> int:
        return better(match, board, entrant) if match < 4 else worse(match, board, entrant)

    record(store, store.planned(GATE), turning)
    expected = judged(store)
    assert expected.verdict is Verdict.PASSED
    assert expected.blocks == 2
    with Store.open(tmp_path / "other.db") as other:
        judge = create(other, spec, 4)
        shuffled = random.Random(1).sample(other.planned(GATE), 32)
        seen = set()
        for key in shuffled:
            record(other, [key], turning)
            judge.enough()
            seen.add(judge.report().verdict)
        assert judge.report() == expected == judged(other)
        assert seen == {Verdict.NONE, Verdict.PASSED}


def test_a_block_that_is_missing_holds_back_all_that_follow(bots: Callable[..., list[Path]], store: Store) -> None:
    judge = create(store, plain_spec(bots, boards=6), 8)
    keys = store.planned(GATE)
    record(store, [key for key in keys if key != SittingKey(GATE, 2, 1)], better)
    assert not judge.enough()
    assert judge.report().blocks == 1
    record(store, [SittingKey(GATE, 2, 1)], better)
    assert judge.enough()
    assert judge.report().blocks > 1


def test_a_block_counts_once_all_its_groups_have_played(bots: Callable[..., list[Path]], store: Store) -> None:
    spec = gate_spec(request_of(bots("new", "old", "a", "b", "c", "d", "e", "f"), boards=4))
    judge = create(store, spec, 2)
    keys = store.planned(GATE)
    record(store, keys[:8], better)
    assert not judge.enough()
    assert (judge.report().blocks, judge.report().boards) == (0, 0), "one of two groups"
    record(store, keys[8:16], better)
    judge.enough()
    assert (judge.report().blocks, judge.report().boards) == (1, 8)


def test_a_gate_that_was_stopped_has_no_verdict_but_an_estimate(bots: Callable[..., list[Path]], store: Store) -> None:
    # https://github.com/official-stockfish/fishtest/issues/2125 and https://github.com/official-stockfish/fishtest/issues/1924
    create(store, plain_spec(bots, boards=6), 8)
    record(store, store.planned(GATE)[:8], better)
    found = judged(store)
    assert (found.verdict, found.reason) == (Verdict.NONE, Reason.STOPPED)
    assert found.plain.interval is not None
    assert found.plain.mean is not None
    assert found.plain.interval[0] < found.plain.mean < found.plain.interval[1]
    assert found.sequence[0] < found.plain.mean < found.sequence[1]
    assert found.stopped(Reason.TIME_LIMIT).reason is Reason.TIME_LIMIT


def test_a_gate_at_its_cap_has_no_verdict(bots: Callable[..., list[Path]], store: Store) -> None:
    create(store, plain_spec(bots, boards=4), 2)
    record(store, store.planned(GATE), lambda match, board, entrant: 8 if entrant else 6 + 4 * (board % 2))
    found = judged(store)
    assert (found.verdict, found.reason) == (Verdict.NONE, Reason.CAP)
    assert found.stopped(Reason.TIME_LIMIT).reason is Reason.CAP


@pytest.mark.parametrize("form", Form)
@pytest.mark.parametrize("mode", Mode)
def test_bots_that_come_out_alike_get_no_verdict(
    bots: Callable[..., list[Path]], store: Store, form: Form, mode: Mode
) -> None:
    create(store, plain_spec(bots, boards=24, form=form, mode=mode), 6)
    record(store, store.planned(GATE), even)
    found = judged(store)
    assert (found.verdict, found.reason) == (Verdict.NONE, Reason.NO_DIFFERENCE)
    assert found.plain.mean == 0


def test_a_mean_of_many_boards_is_assumed_to_vary_less() -> None:
    for form in Form:
        for unit, expected in ((Unit.BOARD, 26 / 5), (Unit.BLOCK, 26 / 5 / 4)):
            terms = GateTerms(Mode.SUPERIORITY, form, unit, Hypotheses(0.0, 0.5), 1)
            assert terms.new_test(rule_set("black_lady"), 16).spread == pytest.approx(expected)


def test_bots_that_learn_are_judged_by_whole_blocks(bots: Callable[..., list[Path]], store: Store) -> None:
    create(store, plain_spec(bots, boards=6, unit=Unit.BLOCK), 12)
    record(store, store.planned(GATE), better)
    found = judged(store)
    assert found.plain.observations == found.blocks >= 8
    assert found.boards == 6 * found.blocks


def test_a_fault_of_the_candidate_fails_the_gate_with_its_log(bots: Callable[..., list[Path]], store: Store) -> None:
    judge = create(store, plain_spec(bots, boards=2), 8)
    keys = store.planned(GATE)
    record(store, keys[:5], better, [(keys[2], 0), (keys[4], 1), (keys[1], 3)])
    assert not judge.enough(), "its log would tell the cards of a deal set that is still being played"
    record(store, keys[5:8], better)
    assert judge.enough()
    found = judge.report()
    assert (found.verdict, found.reason) == (Verdict.FAILED, Reason.FAULTS)
    assert [(key, fault.code) for key, fault in found.candidate_faults] == [(keys[2], "CRASH")]
    assert found.candidate_log is not None
    assert (found.candidate_log.name, found.candidate_log.log) == ("new", "log of 0")
    assert found.other_faults == {"old": 1, "y": 1}


def test_faults_of_others_are_shown_and_fail_nobody(bots: Callable[..., list[Path]], store: Store) -> None:
    create(store, plain_spec(bots, boards=12), 4)
    keys = store.planned(GATE)
    record(store, keys, better, [(keys[0], 2), (keys[5], 1)])
    found = judged(store)
    assert (found.verdict, found.reason) == (Verdict.PASSED, Reason.BOUND)
    assert (found.candidate_faults, found.candidate_log) == ((), None)
    assert found.other_faults == {"old": 1, "x": 1}


def test_a_fault_after_the_verdict_changes_nothing(bots: Callable[..., list[Path]], store: Store) -> None:
    create(store, plain_spec(bots, boards=6), 8)
    keys = store.planned(GATE)
    record(store, keys, better, [(keys[-8], 0)])
    found = judged(store)
    assert (found.verdict, found.reason) == (Verdict.PASSED, Reason.BOUND)
    assert found.candidate_faults == ()


def test_a_sitting_that_cannot_be_played_ends_the_gate_when_it_is_its_turn(
    bots: Callable[..., list[Path]], store: Store
) -> None:
    judge = create(store, plain_spec(bots, boards=6), 8)
    keys = store.planned(GATE)
    broken = SittingKey(GATE, 2, 0)
    for _ in range(3):
        lease = store.lease(broken, "w1", START, timedelta(minutes=1))
        store.release(broken, lease.attempt, "the disk is full")  # type: ignore[union-attr]  # as above
    assert not judge.enough(), "the first block may have the verdict"
    record(store, keys[:8], better)
    with pytest.raises(InfrastructureError, match=f"sitting {broken} could not be played: the disk is full"):
        judge.enough()
    assert not Judges(store).enough(store.tournament(GATE)), "a service plays what is left and says that it failed"


def test_a_gate_is_played_by_honest_workers_from_its_plan(bots: Callable[..., list[Path]], store: Store) -> None:
    """Real hands through the desk: a bot that breaks the rules fails, against itself nothing differs."""
    desk = Desk(store)
    create(store, plain_spec(bots, boards=2), 1)
    for key in store.planned(GATE):
        grant = granted(desk, str(key))
        support.report(desk, grant, support.packed_of(support.played(grant.plan, [Lowest() for _ in range(4)])))
    found = judged(store)
    assert (found.verdict, found.reason, found.plain.mean) == (Verdict.NONE, Reason.NO_DIFFERENCE, 0)
    assert found.hands == 2 * 4 * 2


def test_alarms_are_counted_of_every_sitting(bots: Callable[..., list[Path]], store: Store, desk: Desk) -> None:
    create(store, plain_spec(bots), 1)
    for key in store.planned(GATE)[:2]:
        lease = granted(desk, str(key)).lease
        store.refuse(key, lease.attempt, "0" * 64, "it does not verify", START)
    assert judged(store).alarms == 2


def test_rule_breakers_fail(bots: Callable[..., list[Path]], store: Store) -> None:
    desk = Desk(store)
    create(store, plain_spec(bots, boards=2), 1)
    for key in store.planned(GATE):
        grant = granted(desk, str(key))
        tested = Revoker() if key.match == 0 else Lowest()
        seated = [tested, *(Lowest() for _ in range(3))]
        support.report(desk, grant, support.packed_of(support.played(grant.plan, seated)))
    found = judged(store)
    assert (found.verdict, found.reason) == (Verdict.FAILED, Reason.FAULTS)
    assert {fault.code for _, fault in found.candidate_faults} == {"ILLEGAL_PLAY"}
