"""Tournaments over gRPC: made from submitted versions, started, followed and shown, to whom they may be."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import grpc
import pytest

from arbiter.api.tournament.v1 import tournament_pb2 as pb
from arbiter.api.tournament.v1 import tournament_pb2_grpc
from arbiter.cli.standings_text import standings_dict
from arbiter.deals import commitment
from arbiter.match import read_replay
from arbiter.registry.life import Validation
from arbiter.service.pages import page_token
from arbiter.store import Scope, TournamentState
from arbiter.tournament import Desk, details
from arbiter.tournament import report as results
from tests.service.test_registry import Service, names_tokens, package, refusal, serving, submit
from tests.tournament.support import Lowest, Revoker, granted, packed_of, played, report

FILE = """
name = "cup"
deal_seed = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
[match]
boards = 2
[[entrants]]
bot = "lowest@1"
[[entrants]]
bot = "lowest"
name = "newest"
[[entrants]]
bot = "uniform"
[[entrants]]
bot = "batch@1"
"""


class Caller:
    """One user of a service."""

    def __init__(self, service: Service, owner: str, scope: Scope) -> None:
        self._channel = grpc.insecure_channel(service.address)
        self.stub = tournament_pb2_grpc.TournamentServiceStub(self._channel)
        self.metadata = (("authorization", f"Bearer {service.token(owner, scope)}"),)

    def create(self, definition: str = FILE, request_id: str = "one") -> pb.Tournament:
        request = pb.CreateTournamentRequest(definition=definition, request_id=request_id)
        return self.stub.CreateTournament(request, metadata=self.metadata).tournament

    def start(self, tournament: str) -> pb.Tournament:
        return self.stub.StartTournament(
            pb.StartTournamentRequest(tournament=tournament), metadata=self.metadata
        ).tournament

    def pause(self, tournament: str) -> pb.Tournament:
        return self.stub.PauseTournament(
            pb.PauseTournamentRequest(tournament=tournament), metadata=self.metadata
        ).tournament

    def resume(self, tournament: str) -> pb.Tournament:
        return self.stub.ResumeTournament(
            pb.ResumeTournamentRequest(tournament=tournament), metadata=self.metadata
        ).tournament

    def cancel(self, tournament: str) -> pb.Tournament:
        return self.stub.CancelTournament(
            pb.CancelTournamentRequest(tournament=tournament), metadata=self.metadata
        ).tournament

    def standings(self, tournament: str, *, details: bool = False) -> pb.GetStandingsResponse:
        request = pb.GetStandingsRequest(tournament=tournament, crosstable=details, details=details)
        return self.stub.GetStandings(request, metadata=self.metadata)

    def watch(self, tournament: str) -> Iterator[pb.Tournament]:
        for response in self.stub.WatchTournament(
            pb.WatchTournamentRequest(tournament=tournament), metadata=self.metadata
        ):
            yield response.tournament

    def replay(self, sitting: str) -> bytes:
        return b"".join(
            part.chunk for part in self.stub.GetReplay(pb.GetReplayRequest(sitting=sitting), metadata=self.metadata)
        )

    def export(self, tournament: str) -> bytes:
        request = pb.ExportTournamentRequest(tournament=tournament)
        return b"".join(part.chunk for part in self.stub.ExportTournament(request, metadata=self.metadata))

    def logs(self, sitting: str) -> list[pb.BotLog]:
        return list(self.stub.GetSittingLogs(pb.GetSittingLogsRequest(sitting=sitting), metadata=self.metadata).logs)

    def close(self) -> None:
        self._channel.close()


async def accept(_: Path) -> Validation:
    """Stands where sittings against stand-ins are played, which other tests do."""
    return Validation(True, "played", "")


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    """With four versions: two of ada's, and one each of bob's and carol's."""
    with serving(tmp_path, validate=accept) as found:
        for owner, name, request_id in (("ada", "lowest", "1"), ("ada", "lowest", "2"), ("bob", "uniform", "1")):
            with found.client(found.token(owner)) as client:
                submit(client, package(name), request_id)
        with found.client(found.token("carol")) as client:
            submit(client, package("batch"))
        assert found.life is not None
        for version in found.store.versions.unfinished():
            found.do(found.life.advance(version))
        yield found


@pytest.fixture
def host(service: Service) -> Iterator[Caller]:
    caller = Caller(service, "hal", Scope.HOST)
    yield caller
    caller.close()


@pytest.fixture
def ada(service: Service) -> Iterator[Caller]:
    caller = Caller(service, "ada", Scope.CONTESTANT)
    yield caller
    caller.close()


def play(service: Service, tournament: str, sittings: int, *, cheat: bool = False) -> None:
    """What workers would report of the first sittings."""
    desk = Desk(service.store)
    for key in service.store.planned(tournament)[:sittings]:
        grant = granted(desk, str(key))
        bots = [Revoker() if cheat and place == 1 else Lowest() for place in range(4)]
        report(desk, grant, packed_of(played(grant.plan, bots)))


def test_a_tournament_is_made_of_versions_and_waits(service: Service, host: Caller) -> None:
    made = host.create()
    assert made.state == pb.TOURNAMENT_STATE_SCHEDULED
    assert list(made.entrants) == ["lowest@1", "newest", "uniform@1", "batch@1"]
    assert (made.sittings, made.sittings_recorded, made.rules) == (4, 0, "black_lady")
    entrants = service.store.entrants(made.id)
    assert [entrant.manifest["owner"] for entrant in entrants] == ["ada", "ada", "bob", "carol"]
    assert host.create() == made, "the same request makes no second"
    assert len(service.store.tournaments()) == 1
    for old, new in (("boards = 2", "boards = 3"), ('"newest"', '"other"'), ('"00112233', '"99112233')):
        with pytest.raises(grpc.RpcError, match="this request id has made cup-") as caught:
            host.create(FILE.replace(old, new))
        assert refusal(caught.value)[:2] == (grpc.StatusCode.ALREADY_EXISTS, "NAME_TAKEN")


def test_the_same_request_makes_no_second_whatever_became_of_its_entrants(service: Service, host: Caller) -> None:
    made = host.create()
    with service.client(service.token("ada")) as client:
        submit(client, package("lowest"), "newer")
    assert service.life is not None
    for version in service.store.versions.unfinished():
        service.do(service.life.advance(version))
    with service.client(service.token("bob")) as client:
        client.retire("uniform", 1)
    assert host.create() == made


def test_the_same_request_twice_at_once_makes_one(service: Service, host: Caller) -> None:
    request = pb.CreateTournamentRequest(definition=FILE, request_id="one")
    calls = [host.stub.CreateTournament.future(request, metadata=host.metadata) for _ in range(8)]
    assert len({call.result().tournament.id for call in calls}) == 1
    assert len(service.store.tournaments()) == 1


def test_a_tournament_is_known_by_how_its_id_begins(host: Caller, ada: Caller) -> None:
    made = host.create()
    assert host.start("cup").id == made.id
    assert ada.standings(made.id[:8]).tournament.id == made.id
    with pytest.raises(grpc.RpcError, match="is still being played"):
        ada.replay("cup/0/0")
    host.create(request_id="two")
    with pytest.raises(grpc.RpcError, match="several tournaments' ids begin with 'cup'; there is cup-"):
        host.cancel("cup")
    with pytest.raises(grpc.RpcError, match="tournament: is missing; this call needs it"):
        host.cancel("")


def test_it_is_started_followed_and_shown(service: Service, host: Caller, ada: Caller) -> None:
    tournament = host.create().id
    assert host.start(tournament).state == pb.TOURNAMENT_STATE_RUNNING
    following = ada.watch(tournament)
    assert next(following).sittings_recorded == 0
    play(service, tournament, 4)
    assert any(seen.sittings_recorded == 4 for seen in following)
    service.store.set_state(tournament, TournamentState.COMPLETED, now=datetime.now(UTC))
    assert [seen.state for seen in following] == [pb.TOURNAMENT_STATE_COMPLETED]
    found = ada.standings(tournament)
    assert found.lowest_wins
    assert [row.rank for row in found.standings] == sorted(row.rank for row in found.standings)
    assert sum(row.points_per_hand for row in found.standings) == pytest.approx(26.0)
    assert all(row.hands == 8 and not row.faults for row in found.standings)
    assert found.format == "round-robin"
    assert all(row.best_rank <= row.worst_rank <= 4 and row.HasField("mean_place") for row in found.standings)
    assert all(not row.HasField("half_width") for row in found.standings), "two boards are too few for an interval"
    replay = read_replay(ada.replay(f"{tournament}/0/0"))
    assert (replay.sitting, replay.boards) == (f"{tournament}/0/0", 2)


def test_standings_tell_what_stands_behind_them_when_asked(service: Service, host: Caller, ada: Caller) -> None:
    """The same as on the machine itself."""
    tournament = host.create().id
    host.start(tournament)
    play(service, tournament, 4)
    plain = ada.standings(tournament)
    assert (len(plain.crosstable), len(plain.details), plain.sides) == (0, 0, False)
    found = ada.standings(tournament, details=True)
    assert found.standings == plain.standings
    told = json.loads(json.dumps(standings_dict(found)))
    here, behind = results(service.store, tournament), details(service.store, tournament)
    assert told["details"] == behind.to_list()
    assert {row["thinking_seconds"] for row in told["details"]} == {1.0}
    assert {tuple(row["seats"]) for row in told["details"]} == {("0", "1", "2", "3")}
    assert {tuple(row["directions"]) for row in told["details"]} == {("left", "right")}
    as_here = here.to_dict()
    assert {(p["name"], p["opponent"]): p for p in told["crosstable"]} == {
        (p["name"], p["opponent"]): p for p in as_here["crosstable"]
    }
    for row, beside in zip(told["standings"], as_here["standings"], strict=True):
        assert {key: beside[key] for key in row.keys() & beside.keys()} == {
            key: row[key] for key in row.keys() & beside.keys()
        }
        assert row.keys() - beside.keys() == {"rating_interval", "rating_provisional"}


def test_nothing_of_a_deal_set_is_shown_before_its_last_sitting(service: Service, host: Caller, ada: Caller) -> None:
    tournament = host.create().id
    host.start(tournament)
    play(service, tournament, 3)
    calls: list[Callable[[], object]] = [
        lambda: ada.replay(f"{tournament}/0/0"),
        lambda: ada.logs(f"{tournament}/0/0"),
    ]
    for call in calls:
        with pytest.raises(grpc.RpcError, match="is still being played"):
            call()
    assert not any(row.HasField("points_per_hand") for row in ada.standings(tournament).standings)


def unpacked(archive: bytes) -> dict[str, bytes]:
    """The files of an export by their paths in the tournament's folder."""
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as found:
        contents = {member.name: found.extractfile(member) for member in found}
        return {name.partition("/")[2]: file.read() for name, file in contents.items() if file is not None}


def test_all_that_may_be_known_is_exported_and_no_more(service: Service, host: Caller, ada: Caller) -> None:
    tournament = host.create().id
    waiting = unpacked(ada.export(tournament))
    assert sorted(waiting) == ["deals.json", "plan.json", "standings.json", "tournament.json"]
    host.start(tournament)
    play(service, tournament, 3)
    playing = ada.export(tournament)
    assert sorted(unpacked(playing)) == sorted(waiting), "no replay before the last sitting over its deal set"
    (deal_seed,) = (match.deal_seed for match in service.store.matches(tournament))
    for secret in (deal_seed, service.store.tournament(tournament).deal_seed):
        assert not any(secret.hex().encode() in content for content in unpacked(playing).values())
    play(service, tournament, 1)
    service.store.set_state(tournament, TournamentState.COMPLETED, now=datetime.now(UTC))
    whole = unpacked(ada.export("cup"))
    assert ada.export(tournament) == ada.export(tournament), "the same results make the same bytes"
    assert [name for name in whole if name.startswith("replays/")] == [
        f"replays/0-{number}.jsonl" for number in range(4)
    ]
    deals, (plan,) = json.loads(whole["deals.json"]), json.loads(whole["plan.json"])
    assert (deals["deal_sets"][0]["deal_seed"], deals["tournament_seed"]) == (deal_seed.hex(), FILE.split('"')[3])
    assert (plan["commitment"], plan["sittings"], plan["boards"]) == (commitment(deal_seed), 4, 2)
    assert read_replay(whole["replays/0-3.jsonl"]).sitting == f"{tournament}/0/3"
    assert {row["name"] for row in json.loads(whole["standings.json"])["standings"]} == {
        entrant["name"] for entrant in json.loads(whole["tournament.json"])["entrants"]
    }


def test_a_bot_s_log_is_its_owner_s_and_the_host_s(service: Service, host: Caller, ada: Caller) -> None:
    tournament = host.create().id
    host.start(tournament)
    play(service, tournament, 4, cheat=True)
    sitting = f"{tournament}/0/0"
    assert [log.entrant for log in host.logs(sitting)] == ["lowest@1", "newest", "uniform@1", "batch@1"]
    mine = ada.logs(sitting)
    assert [log.entrant for log in mine] == ["lowest@1", "newest"]
    assert mine[0].faults == []
    assert mine[1].faults[0].startswith("ILLEGAL_PLAY: ")
    bob = Caller(service, "bob", Scope.CONTESTANT)
    assert [log.entrant for log in bob.logs(sitting)] == ["uniform@1"]
    bob.close()
    spectator = Caller(service, "eve", Scope.SPECTATOR)
    with pytest.raises(grpc.RpcError, match="needs a token with scope contestant"):
        spectator.logs(sitting)
    assert spectator.standings(tournament).standings[0].faults is not None
    spectator.close()


def test_only_the_host_makes_starts_and_cancels(service: Service, host: Caller, ada: Caller) -> None:
    """aiarena-web#367."""
    tournament = host.create().id
    calls: list[Callable[[], object]] = [
        lambda: ada.create(request_id="two"),
        lambda: ada.start(tournament),
        lambda: ada.pause(tournament),
        lambda: ada.resume(tournament),
        lambda: ada.cancel(tournament),
    ]
    for call in calls:
        with pytest.raises(grpc.RpcError, match="this needs a token with scope host") as caught:
            call()
        assert refusal(caught.value)[0] is grpc.StatusCode.PERMISSION_DENIED
    assert host.cancel(tournament).state == pb.TOURNAMENT_STATE_CANCELLED
    with pytest.raises(grpc.RpcError) as caught:
        host.start(tournament)
    assert refusal(caught.value)[:2] == (grpc.StatusCode.FAILED_PRECONDITION, "WRONG_STATE")
    assert [entry.action for entry in service.store.accounts.audit(2)] == ["tournament.cancel", "tournament.create"]
    names_tokens(service)


def test_a_tournament_is_paused_and_resumed(service: Service, host: Caller) -> None:
    tournament = host.create().id
    for refused in (host.pause, host.resume):
        with pytest.raises(grpc.RpcError) as caught:
            refused(tournament)
        assert refusal(caught.value)[:2] == (grpc.StatusCode.FAILED_PRECONDITION, "WRONG_STATE")
    host.start(tournament)
    assert host.pause(tournament).state == pb.TOURNAMENT_STATE_PAUSED
    assert [each.state for each in host.watch(tournament)] == [pb.TOURNAMENT_STATE_PAUSED]
    assert host.resume(tournament).state == pb.TOURNAMENT_STATE_RUNNING
    actions = [entry.action for entry in service.store.accounts.audit(2)]
    assert actions == ["tournament.resume", "tournament.pause"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"lowest@1"', '"nobody"', "entrants.1.bot: there is no bot 'nobody'"),
        ('"lowest@1"', '"lowest@9"', "entrants.1.bot: there is no version lowest@9"),
        ('"lowest@1"', '"lowest@x"', "entrants.1.bot: 'lowest@x' names no version"),
        ('"lowest@1"', '"../lowest"', "entrants.1.bot: there is no bot '../lowest'"),
        ('name = "newest"', 'name = "lowest@1"', "entrants.2: 'lowest@1' is entrant 1 already"),
        ("boards = 2", "boards = 0", "match.boards: input should be greater"),
        ("[match]", "[match", "definition: is no TOML"),
    ],
)
def test_what_can_not_be_held_is_refused_with_the_reason(host: Caller, old: str, new: str, said: str) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        host.create(FILE.replace(old, new))
    code, _, message = refusal(caught.value)
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert said in message


def test_a_version_that_is_not_active_is_not_scheduled_and_the_refusal_says_why(service: Service, host: Caller) -> None:
    """battlecode21#13."""
    with service.client(service.token("hal", Scope.HOST)) as client:
        client.retire("uniform", 1)
    with pytest.raises(grpc.RpcError, match="its latest, uniform@1, is retired"):
        host.create()
    with pytest.raises(grpc.RpcError, match="uniform@1 is retired; only an active version can be scheduled"):
        host.create(FILE.replace('"uniform"', '"uniform@1"'))
    assert service.store.tournaments() == []


def test_lists_come_in_pages_newest_first(host: Caller) -> None:
    made = [host.create(request_id=f"r{number}").id for number in range(5)]
    seen: list[str] = []
    token = ""
    while True:
        request = pb.ListTournamentsRequest(page_size=2, page_token=token)
        page = host.stub.ListTournaments(request, metadata=host.metadata)
        seen += [tournament.id for tournament in page.tournaments]
        token = page.next_page_token
        if not token:
            break
    assert seen == made[::-1]
    for token in (page_token("bots", made[-1]), page_token("tournaments", "cup-0000")):
        with pytest.raises(grpc.RpcError, match="is none of this list; use a next_page_token as it was given"):
            host.stub.ListTournaments(pb.ListTournamentsRequest(page_token=token), metadata=host.metadata)
    with pytest.raises(grpc.RpcError, match="no tournament's id begins with 'nothing'; there is cup-") as caught:
        host.standings("nothing")
    assert refusal(caught.value)[:2] == (grpc.StatusCode.NOT_FOUND, "UNKNOWN_TOURNAMENT")
