"""The ladder over gRPC: made by the host, entered by contestants, looked at by all."""

from __future__ import annotations

from collections.abc import Iterator

import grpc
import pytest

from arbiter.api.ladder.v1 import ladder_pb2 as pb
from arbiter.api.ladder.v1 import ladder_pb2_grpc
from arbiter.api.tournament.v1 import tournament_pb2
from arbiter.store import Scope
from arbiter.tournament import Desk
from arbiter.tournament.ladder import extend_ladder
from tests.service.test_gates import competition, refusal
from tests.service.test_registry import Service, names_tokens
from tests.service.test_tournaments import Caller as TournamentCaller
from tests.tournament.support import Lowest, granted, packed_of, played, report

FILE = 'name = "ladder"\nformat = "ladder"\n[match]\nboards = 6\nseatings = 1\n'


class Caller:
    """One user of a service."""

    def __init__(self, service: Service, owner: str, scope: Scope = Scope.CONTESTANT) -> None:
        self._channel = grpc.insecure_channel(service.address)
        self.stub = ladder_pb2_grpc.LadderServiceStub(self._channel)
        self.metadata = (("authorization", f"Bearer {service.token(owner, scope)}"),)

    def enter(self, version: str, ladder: str = "") -> pb.EnterLadderResponse:
        return self.stub.EnterLadder(pb.EnterLadderRequest(version=version, ladder=ladder), metadata=self.metadata)

    def leave(self, version: str) -> pb.LeaveLadderResponse:
        return self.stub.LeaveLadder(pb.LeaveLadderRequest(version=version), metadata=self.metadata)

    def leaderboard(self) -> pb.GetLeaderboardResponse:
        return self.stub.GetLeaderboard(pb.GetLeaderboardRequest(), metadata=self.metadata)

    def history(self, version: str) -> pb.GetHistoryResponse:
        return self.stub.GetHistory(pb.GetHistoryRequest(version=version), metadata=self.metadata)

    def upcoming(self, version: str = "") -> pb.ListUpcomingResponse:
        return self.stub.ListUpcoming(pb.ListUpcomingRequest(version=version), metadata=self.metadata)

    def close(self) -> None:
        self._channel.close()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with competition(tmp_path_factory.mktemp("service")) as found:
        yield found


def caller(service: Service, owner: str, scope: Scope = Scope.CONTESTANT) -> Caller:
    return Caller(service, owner, scope)


def test_a_ladder_from_its_making_to_its_leaderboard(service: Service) -> None:
    """One test in order, for a service with bots takes long to set up."""
    callers = {owner: caller(service, owner) for owner in ("ada", "bob", "carol", "dave")}
    eve = caller(service, "eve", Scope.SPECTATOR)
    ada, bob = callers["ada"], callers["bob"]
    assert refusal(lambda: ada.enter("lowest")) == (grpc.StatusCode.NOT_FOUND, "UNKNOWN_TOURNAMENT"), (
        "there is none yet"
    )
    host = TournamentCaller(service, "hal", Scope.HOST)
    made = host.create(FILE)
    assert (made.state, made.sittings, list(made.entrants)) == (tournament_pb2.TOURNAMENT_STATE_SCHEDULED, 0, [])
    host.start(made.id)
    host.close()

    # Entering.
    entered = ada.enter("lowest@1")
    assert (entered.ladder, entered.entry.name, entered.entry.owner) == (made.id, "lowest@1", "ada")
    assert (entered.entry.active, entered.entry.HasField("rank")) == (True, False)
    assert ada.enter("lowest@1", made.id) == entered, "entered again, nothing changes"
    assert refusal(lambda: bob.enter("lowest@2")) == (grpc.StatusCode.PERMISSION_DENIED, "FORBIDDEN")
    assert refusal(lambda: eve.enter("lowest@2")) == (grpc.StatusCode.PERMISSION_DENIED, "FORBIDDEN")
    assert refusal(lambda: ada.enter("lowest@9")) == (grpc.StatusCode.NOT_FOUND, "UNKNOWN_VERSION")
    for owner, bot in (("bob", "uniform"), ("carol", "batch"), ("dave", "careful")):
        callers[owner].enter(bot)

    # Playing.
    desk = Desk(service.store)
    for _ in range(3):
        assert extend_ladder(service.store, made.id, 1)
        assert [list(match.names) for match in eve.upcoming().matches if match.HasField("match")]
        for key in service.store.planned(made.id):
            grant = granted(desk, str(key))
            report(desk, grant, packed_of(played(grant.plan, [Lowest() for _ in range(4)])))

    # Looking.
    board = eve.leaderboard()
    assert (board.ladder, board.rules) == (made.id, "black_lady")
    assert sorted(entry.name for entry in board.entries) == ["batch@1", "careful@1", "lowest@1", "uniform@1"]
    assert {(entry.matches, entry.hands) for entry in board.entries} == {(3, 18)}
    assert all(entry.rating_low < entry.rating < entry.rating_high for entry in board.entries)
    history = eve.history("lowest")
    assert [(point.matches, point.hands) for point in history.points] == [(1, 6), (2, 12), (3, 18)]
    lowest = next(entry for entry in board.entries if entry.name == "lowest@1")
    assert history.points[-1].rating == pytest.approx(lowest.rating)
    expected = eve.upcoming("lowest@1").matches
    assert [match.HasField("match") for match in expected] == [False]
    assert "lowest@1" in expected[0].names

    # A new version in the place of the old one, and leaving.
    assert ada.enter("lowest").entry.name == "lowest@2"
    active = {entry.name: entry.active for entry in eve.leaderboard().entries}
    assert (active["lowest@1"], active["lowest@2"]) == (False, True)
    assert refusal(lambda: bob.leave("lowest")) == (grpc.StatusCode.PERMISSION_DENIED, "FORBIDDEN")
    assert ada.leave("lowest").ladder == made.id
    assert not any(entry.active for entry in eve.leaderboard().entries if entry.owner == "ada")
    assert refusal(lambda: eve.history("nobody")) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID")
    actions = [(entry.owner, entry.action, entry.detail) for entry in service.store.accounts.audit(2)]
    assert sorted(actions) == [("ada", "ladder.enter", "lowest@2"), ("ada", "ladder.leave", "lowest@2")]
    names_tokens(service)
    for each in (*callers.values(), eve):
        each.close()


def test_a_request_that_comes_again_changes_nothing(service: Service) -> None:
    """After the others of this module, on a ladder of its own."""
    host, ada = TournamentCaller(service, "hal", Scope.HOST), caller(service, "ada")
    ladder = host.create(FILE.replace('"ladder"', '"again"', 1), "again").id
    host.start(ladder)
    enter = pb.EnterLadderRequest(version="lowest", ladder=ladder, request_id="in")
    leave = pb.LeaveLadderRequest(version="lowest", ladder=ladder, request_id="out")
    for _ in range(2):
        assert ada.stub.EnterLadder(enter, metadata=ada.metadata).entry.active
    ada.stub.LeaveLadder(leave, metadata=ada.metadata)
    assert not ada.stub.EnterLadder(enter, metadata=ada.metadata).entry.active, "it has left since"
    assert ada.enter("lowest", ladder).entry.active
    ada.stub.LeaveLadder(leave, metadata=ada.metadata)
    board = ada.stub.GetLeaderboard(pb.GetLeaderboardRequest(ladder=ladder), metadata=ada.metadata)
    assert [entry.active for entry in board.entries] == [True], "it is back since"
    ada.enter("lowest@1", ladder)
    enter.version = leave.version = "lowest@1"
    taken = (grpc.StatusCode.ALREADY_EXISTS, "NAME_TAKEN")
    assert refusal(lambda: ada.stub.EnterLadder(enter, metadata=ada.metadata)) == taken, "another request of that id"
    assert refusal(lambda: ada.stub.LeaveLadder(leave, metadata=ada.metadata)) == taken
    host.cancel(ladder)
    assert refusal(lambda: ada.enter("lowest@2", ladder)) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID")
    host.close()
    ada.close()
