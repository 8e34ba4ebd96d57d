"""Gates over gRPC: asked for by contestants, judged block by block, followed, cancelled, shown to whom they may be."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import grpc
import pytest

from arbiter.api.gate.v1 import gate_pb2 as pb
from arbiter.api.gate.v1 import gate_pb2_grpc
from arbiter.api.tournament.v1 import tournament_pb2
from arbiter.store import BotLog, Fault, HandTally, Quota, Scope, SeatResult, SittingKey, SittingResult, TournamentState
from tests.patience import PATIENCE
from tests.service.test_registry import Service, accept, names_tokens, package, serving, submit
from tests.service.test_registry import refusal as refusal_of
from tests.tournament.support import START

Points = Callable[[int, int], int]
"""Points by board and by whether it is the candidate's match."""


class Caller:
    """One user of a service."""

    def __init__(self, service: Service, owner: str, scope: Scope = Scope.CONTESTANT) -> None:
        self._channel = grpc.insecure_channel(service.address)
        self.stub = gate_pb2_grpc.GateServiceStub(self._channel)
        self.metadata = (("authorization", f"Bearer {service.token(owner, scope)}"),)

    def create(self, request_id: str = "one", **changes: object) -> pb.Gate:
        order = {
            "candidate": "lowest@2",
            "baseline": "lowest@latest",
            "opponents": ["uniform", "batch", "careful@1"],
            "block_boards": 12,
            "max_boards": 36,
        }
        request = pb.CreateGateRequest(request_id=request_id, **(order | changes))  # type: ignore[arg-type]  # its fields
        return self.stub.CreateGate(request, metadata=self.metadata).gate

    def get(self, gate: str) -> pb.Gate:
        return self.stub.GetGate(pb.GetGateRequest(gate=gate), metadata=self.metadata).gate

    def cancel(self, gate: str, request_id: str = "") -> pb.Gate:
        request = pb.CancelGateRequest(gate=gate, request_id=request_id)
        return self.stub.CancelGate(request, metadata=self.metadata).gate

    def watch(self, gate: str) -> Iterator[pb.Gate]:
        request = pb.WatchGateRequest(gate=gate)
        for response in self.stub.WatchGate(request, metadata=self.metadata, timeout=PATIENCE):
            yield response.gate

    def close(self) -> None:
        self._channel.close()


def refusal(call: Callable[[], object]) -> tuple[grpc.StatusCode, str]:
    """Code and reason of a call that is refused."""
    with pytest.raises(grpc.RpcError) as caught:
        call()
    return refusal_of(caught.value)[:2]


@contextmanager
def competition(folder: Path, quota: Quota | None = None) -> Iterator[Service]:
    """A service with two versions of ada's, and one each of three others'."""
    with serving(folder, validate=accept, quota=quota) as found:
        for number in (1, 2):
            with found.client(found.token("ada")) as client:
                submit(client, package("lowest", b"x" * number), str(number))
        for owner, name in (("bob", "uniform"), ("carol", "batch"), ("dave", "careful")):
            with found.client(found.token(owner)) as client:
                submit(client, package(name))
        assert found.life is not None
        for version in found.store.versions.unfinished():
            found.do(found.life.advance(version))
        yield found


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with competition(tmp_path) as found:
        yield found


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """One for calls that are refused."""
    with competition(tmp_path_factory.mktemp("service")) as found:
        yield found


@pytest.fixture
def ada(service: Service) -> Iterator[Caller]:
    caller = Caller(service, "ada")
    yield caller
    caller.close()


@pytest.fixture
def bob(service: Service) -> Iterator[Caller]:
    caller = Caller(service, "bob")
    yield caller
    caller.close()


def better(board: int, candidate: int) -> int:
    """The candidate takes 3 to 5 points where the baseline takes 10."""
    return 3 + board % 3 if candidate else 10


def record(service: Service, gate: str, blocks: range, points: Points, fault: SittingKey | None = None) -> None:
    """Made-up results of whole blocks; in one sitting, if it is given, the candidate's bot crashes."""
    matches = {match.index: match for match in service.store.matches(gate)}
    for key in [key for key in service.store.planned(gate) if key.match // 2 in blocks]:
        lease = service.store.lease(key, "w1", START, timedelta(minutes=1))
        match = matches[key.match]
        scores = [
            SeatResult(board, seat, entrant, 1, value, value)
            for board in range(1, match.boards + 1)
            for seat, entrant in enumerate(match.entrants)
            for value in (points(board, key.match % 2 == 0) if entrant < 2 else 6,)
        ]
        faults = (Fault(0, 1, 1, 0, 1, "CRASH", "gone"),) if key == fault else ()
        logs = tuple(BotLog(entrant, "exit status 1", f"log of {entrant}") for entrant in match.entrants)
        tallies = tuple(HandTally(score.board, score.seat, "left", 1, score.points, 0) for score in scores)
        replay = str(key).encode()
        digest = hashlib.sha256(replay).hexdigest()
        result = SittingResult(tuple(scores), tallies, faults, logs, replay, digest, 1, 1.0)
        service.store.record(key, lease.attempt, result, START)  # type: ignore[union-attr]  # a refusal has none


def test_a_gate_is_made_of_versions_and_runs(service: Service, ada: Caller) -> None:
    made = ada.create()
    assert (made.state, made.owner) == (tournament_pb2.TOURNAMENT_STATE_RUNNING, "ada")
    report = made.report
    assert (report.candidate, report.baseline) == ("lowest@2", "lowest@1"), "latest is not the candidate itself"
    assert list(report.opponents) == ["uniform@1", "batch@1", "careful@1"]
    assert (report.most_blocks, report.blocks, report.verdict) == (3, 0, pb.GATE_VERDICT_NONE)
    assert (report.terms.mode, report.terms.form) == (pb.GATE_MODE_SUPERIORITY, pb.GATE_FORM_SPRT)
    assert (report.terms.delta0, report.terms.delta1, report.terms.alpha) == (0.0, 0.5, 0.05)
    owners = [entrant.manifest["owner"] for entrant in service.store.entrants(made.id)]
    assert owners == ["ada", "ada", "bob", "carol", "dave"]
    assert ada.create() == made, "the same request makes no second"
    assert [tournament.id for tournament in service.store.tournaments()] == [made.id]
    others: list[dict[str, object]] = [
        {"candidate": "lowest@1", "baseline": "lowest@2"},
        {"baseline": "uniform"},
        {"opponents": ["batch", "uniform", "careful@1"]},
        {"max_boards": 24},
        {"terms": pb.GateTerms(alpha=0.1)},
    ]
    for change in others:
        with pytest.raises(grpc.RpcError, match=f"has made {made.id} of another order; choose a new one") as caught:
            ada.create(**change)  # type: ignore[arg-type]  # its fields
        assert refusal_of(caught.value)[:2] == (grpc.StatusCode.ALREADY_EXISTS, "NAME_TAKEN"), change
    with service.client(service.token("ada")) as client:
        client.retire("lowest", 2)
    assert ada.create().id == made.id, "whatever became of its candidate"


def test_the_verdict_is_followed_block_by_block(service: Service, ada: Caller) -> None:
    gate = ada.create().id
    following = ada.watch(gate)
    assert next(following).report.blocks == 0
    record(service, gate, range(1, 2), better)
    assert ada.get(gate).report.blocks == 0, "a block counts after those before it"
    record(service, gate, range(1), better)
    seen = next(found.report for found in following if found.report.blocks)
    assert seen.verdict == pb.GATE_VERDICT_PASSED
    assert seen.improvement == pytest.approx(6.0)
    assert seen.interval.low < 6.0 < seen.interval.high
    assert seen.confidence_sequence.low < seen.interval.low
    service.store.set_state(gate, TournamentState.COMPLETED, now=START)
    last = list(following)[-1]
    assert last.state == tournament_pb2.TOURNAMENT_STATE_COMPLETED
    assert last == ada.get(gate)


def test_a_gate_that_is_paused_is_not_waited_for(service: Service, ada: Caller) -> None:
    gate = ada.create().id
    service.store.set_state(gate, TournamentState.PAUSED, now=START)
    assert [found.state for found in ada.watch(gate)] == [tournament_pb2.TOURNAMENT_STATE_PAUSED]


def test_a_fault_fails_and_its_log_is_the_owners(service: Service, ada: Caller, bob: Caller) -> None:
    gate = ada.create().id
    record(service, gate, range(1), better, SittingKey(gate, 0, 1))
    mine, theirs = ada.get(gate).report, bob.get(gate).report
    assert (mine.verdict, mine.reason) == (pb.GATE_VERDICT_FAILED, pb.GATE_REASON_FAULTS)
    assert [(fault.sitting, fault.code) for fault in mine.candidate_faults] == [(f"{gate}/0/1", "CRASH")]
    assert (mine.candidate_log.ending, mine.candidate_log.log) == ("exit status 1", "log of 0")
    assert not theirs.HasField("candidate_log")
    mine.ClearField("candidate_log")
    assert mine == theirs


def test_only_its_owner_and_the_host_end_it_for_good(service: Service, ada: Caller, bob: Caller) -> None:
    gate = ada.create().id
    assert refusal(lambda: bob.cancel(gate)) == (grpc.StatusCode.PERMISSION_DENIED, "FORBIDDEN")
    cancelled = ada.cancel(gate, "stop")
    assert cancelled.state == tournament_pb2.TOURNAMENT_STATE_CANCELLED
    assert (cancelled.report.verdict, cancelled.report.reason) == (pb.GATE_VERDICT_NONE, pb.GATE_REASON_STOPPED)
    assert [found.state for found in ada.watch(gate)] == [cancelled.state]
    assert ada.cancel(gate, "stop") == cancelled, "the same request"
    assert refusal(lambda: ada.cancel(gate)) == (grpc.StatusCode.FAILED_PRECONDITION, "WRONG_STATE")
    two = ada.create("two").id
    assert refusal(lambda: ada.cancel(two, "stop")) == (grpc.StatusCode.ALREADY_EXISTS, "NAME_TAKEN")
    host = Caller(service, "hal", Scope.HOST)
    assert host.cancel(two).state == cancelled.state
    host.close()
    actions = [(entry.owner, entry.action) for entry in service.store.accounts.audit(4)]
    assert sorted(actions) == [
        ("ada", "gate.cancel"),
        ("ada", "gate.create"),
        ("ada", "gate.create"),
        ("hal", "gate.cancel"),
    ]
    names_tokens(service)


def test_a_candidate_is_ones_own(untouched: Service) -> None:
    for owner, scope in (("bob", Scope.CONTESTANT), ("eve", Scope.SPECTATOR)):
        caller = Caller(untouched, owner, scope)
        assert refusal(caller.create) == (grpc.StatusCode.PERMISSION_DENIED, "FORBIDDEN")
        caller.close()


def test_what_is_under_way_and_made_in_a_day_is_limited(tmp_path: Path) -> None:
    with competition(tmp_path, Quota(gates_at_once=2, gates_per_day=3)) as service:
        ada, host = Caller(service, "ada"), Caller(service, "hal", Scope.HOST)
        first = ada.create("one").id
        ada.create("two")
        full = (grpc.StatusCode.RESOURCE_EXHAUSTED, "QUOTA_EXCEEDED")
        assert refusal(lambda: ada.create("three")) == full
        assert refusal(lambda: host.create("three")) == full, "it is the candidate's owner's, whoever asks"
        assert ada.create("one").id == first, "which it is not made by"
        ada.cancel(first)
        last = ada.create("three").id
        ada.cancel(last)
        with pytest.raises(grpc.RpcError, match="ada has had 3 gates within a day, which is all that is allowed"):
            ada.create("four")
        ada.close()
        host.close()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"candidate": "lowest@7"}, "there is no version lowest@7"),
        ({"candidate": "lowest@x"}, "'lowest@x' names no version; write BOT, BOT@latest or BOT@N"),
        ({"baseline": "nobody@latest"}, "there is no bot 'nobody'"),
        ({"candidate": "lowest@1", "baseline": "lowest@7"}, "there is no version lowest@7"),
        ({"opponents": ["lowest@1"]}, "lowest@1 is the candidate's owner's too; name bots of others"),
        ({"opponents": ["ladder-top:3"]}, "nobody else's bot has played in the ladder of these rules"),
        ({"opponents": ["uniform", "bat\0ch"]}, "opponents: holds the character NUL"),
        ({"opponents": ["uniform"] * 25}, "opponents: are 25; name 24 at the most"),
        ({"rules": "no such"}, "no such"),
        ({"seatings": "sometimes"}, "match.seatings"),
        ({"seatings": "9" * 5000}, "match.seatings"),
        ({"max_boards": 30_000}, "max_boards: is 30000; write 1 to 20000"),
        (
            {"max_boards": 20_000, "block_boards": 1},
            "max_boards: would take 160000 sittings, of which 20000 are the most",
        ),
        ({"max_boards": 11}, "too few for one block, which has 12"),
        ({"terms": pb.GateTerms(alpha=0.7)}, "alpha is 0.7"),
        ({"terms": pb.GateTerms(delta0=2.0)}, "delta0 has to be below delta1"),
        ({"terms": pb.GateTerms(mode=9)}, "terms.mode: is 9, which this service does not know"),  # type: ignore[arg-type]
        ({"request_id": "a b"}, "write 1 to 64 letters"),
    ],
)
def test_what_is_impossible_is_refused_with_the_reason(
    untouched: Service, changes: dict[str, object], message: str
) -> None:
    ada = Caller(untouched, "ada")
    with pytest.raises(grpc.RpcError) as caught:
        ada.create(**changes)  # type: ignore[arg-type]  # its fields
    ada.close()
    assert message in (caught.value.details() or "")
    assert untouched.store.tournaments() == []


def test_what_is_not_there_can_not_be_followed(untouched: Service) -> None:
    ada = Caller(untouched, "ada")
    with pytest.raises(grpc.RpcError, match="there is no tournament"):
        ada.get("cup-0000")
    with pytest.raises(grpc.RpcError, match="there is no tournament"):
        list(ada.watch("cup-0000"))
    ada.close()


def test_the_best_of_the_ladder_sit_at_the_table(service: Service, ada: Caller) -> None:
    gate = ada.create(opponents=["uniform", "batch", "careful"]).id
    record(service, gate, range(3), better)
    service.store.set_state(gate, TournamentState.COMPLETED, now=START)
    usual = ada.create("two", opponents=[]).report
    assert sorted(usual.opponents) == ["batch@1", "careful@1", "uniform@1"], "none of ada's, and the best of others"
    against = ada.create("base", baseline="uniform", opponents=["ladder-top:6"]).report
    assert {name.partition("@")[0] for name in against.opponents} == {"batch", "careful"}, "the baseline plays"
    with service.client(service.token("bob")) as client:
        client.retire("uniform", 1)
    left = ada.create("three", opponents=["ladder-top:6"]).report
    assert sorted({name.partition("@")[0] for name in left.opponents}) == ["batch", "careful"]
