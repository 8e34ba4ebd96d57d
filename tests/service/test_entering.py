"""Tournaments that contestants enter: who may, with what, until when, and that what they entered is what plays."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import grpc
import pytest

from arbiter.api.tournament.v1 import tournament_pb2 as pb
from arbiter.packages import FileVersions
from arbiter.registry.life import Validation
from arbiter.store import EntryRefused, Request, Scope, Token, TournamentState, VersionState
from arbiter.tournament import SpecError
from arbiter.tournament.hosting import Hosting
from tests.service.test_registry import Service, package, refusal, serving, submit
from tests.service.test_tournaments import Caller

OPEN = """
name = "open"
[match]
boards = 2
[entry]
per_owner = 2
limit = 5
"""
HOST = Token("a" * 12, "host", Scope.HOST, "0" * 64, datetime.now(UTC), datetime.now(UTC))
TEAMS = OPEN.replace("[entry]", '[rules]\nname = "partnership"\n[entry]').replace("limit = 5", "limit = 4")


async def accept(_: Path) -> Validation:
    """Stands where sittings against stand-ins are played, which other tests do."""
    return Validation(True, "played", "", ("black_lady", "partnership"))


def described(archive: bytes) -> dict[str, Any]:
    """What an export says of its tournament."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
        (member,) = (each for each in opened if each.name.endswith("/tournament.json"))
        content = opened.extractfile(member)
        assert content is not None
        found: dict[str, Any] = json.load(content)
    return found


class Contestant(Caller):
    """A user with bots."""

    def __init__(self, service: Service, owner: str, scope: Scope = Scope.CONTESTANT) -> None:
        super().__init__(service, owner, scope)
        self._service = service
        self._owner = owner

    def submit(self, name: str, request_id: str = "one") -> None:
        """Submit a version that becomes active."""
        with self._service.client(self._service.token(self._owner)) as client:
            submit(client, package(name), f"{name}-{request_id}")
        life = self._service.life
        assert life is not None
        for version in self._service.store.versions.unfinished():
            self._service.do(life.advance(version))

    def enter(self, tournament: str, bot: str, number: int = 0, side: str = "") -> list[str]:
        request = pb.EnterTournamentRequest(tournament=tournament, bot=bot, number=number, side=side)
        return list(self.stub.EnterTournament(request, metadata=self.metadata).tournament.entrants)

    def withdraw(self, tournament: str, bot: str) -> list[str]:
        request = pb.WithdrawFromTournamentRequest(tournament=tournament, bot=bot)
        return list(self.stub.WithdrawFromTournament(request, metadata=self.metadata).tournament.entrants)

    def schedule(self, tournament: str, request_id: str = "") -> pb.Tournament:
        request = pb.ScheduleTournamentRequest(tournament=tournament, request_id=request_id)
        return self.stub.ScheduleTournament(request, metadata=self.metadata).tournament

    def retire(self, bot: str, number: int) -> None:
        with self._service.client(self._service.token(self._owner)) as client:
            client.retire(bot, number)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with serving(tmp_path, validate=accept) as found:
        yield found


@pytest.fixture
def host(service: Service) -> Iterator[Contestant]:
    caller = Contestant(service, "hal", Scope.HOST)
    yield caller
    caller.close()


@pytest.fixture
def ada(service: Service) -> Iterator[Contestant]:
    caller = Contestant(service, "ada")
    for name in ("lowest", "uniform", "careful"):
        caller.submit(name)
    yield caller
    caller.close()


@pytest.fixture
def bob(service: Service) -> Iterator[Contestant]:
    caller = Contestant(service, "bob")
    for name in ("batch", "montecarlo"):
        caller.submit(name)
    yield caller
    caller.close()


def test_contestants_enter_and_what_they_entered_plays(host: Contestant, ada: Contestant, bob: Contestant) -> None:
    draft = host.create(OPEN)
    assert (draft.state, list(draft.entrants), draft.sittings) == (pb.TOURNAMENT_STATE_DRAFT, [], 0)
    assert (draft.entry_terms.per_owner, draft.entry_terms.limit) == (2, 5)
    assert host.create(OPEN).id == draft.id, "the same request makes no second"
    ada.submit("lowest", "two")
    assert ada.enter(draft.id, "lowest", 1) == ["lowest@1"]
    assert bob.enter(draft.id, "batch") == ["lowest@1", "batch@1"]
    assert ada.enter(draft.id, "uniform") == ["lowest@1", "batch@1", "uniform@1"]
    assert ada.enter(draft.id, "lowest") == ["lowest@2", "batch@1", "uniform@1"], "another version in its place"
    bob.enter(draft.id, "montecarlo")
    assert ada.withdraw(draft.id, "uniform") == ["lowest@2", "batch@1", "montecarlo@1"]
    ada.enter(draft.id, "careful")
    closed = host.schedule(draft.id, "close")
    assert closed.state == pb.TOURNAMENT_STATE_SCHEDULED
    assert list(closed.entrants) == ["lowest@2", "batch@1", "montecarlo@1", "careful@1"]
    assert closed.sittings == 4
    assert host.schedule(draft.id, "close") == closed, "the same request changes nothing"
    assert host.create(OPEN).id == draft.id
    assert host.start(draft.id).state == pb.TOURNAMENT_STATE_RUNNING


def test_a_draft_can_be_started_at_once(host: Contestant, ada: Contestant, bob: Contestant) -> None:
    cup = host.create(OPEN + '[[entrants]]\nbot = "careful"\n').id
    for caller, bot in ((ada, "lowest"), (ada, "uniform"), (bob, "batch")):
        caller.enter(cup, bot)
    started = host.start(cup)
    assert started.state == pb.TOURNAMENT_STATE_RUNNING
    assert list(started.entrants) == ["careful@1", "lowest@1", "uniform@1", "batch@1"], "the host's own first"


def test_nobody_enters_or_leaves_once_it_is_closed(host: Contestant, ada: Contestant, bob: Contestant) -> None:
    cup = host.create(OPEN).id
    for caller, bot in ((ada, "lowest"), (ada, "uniform"), (bob, "batch"), (bob, "montecarlo")):
        caller.enter(cup, bot)
    host.schedule(cup)
    calls: list[Callable[[], object]] = [
        lambda: ada.enter(cup, "careful"),
        lambda: ada.withdraw(cup, "lowest"),
        lambda: host.schedule(cup),
    ]
    for call in calls:
        with pytest.raises(grpc.RpcError, match="is scheduled; ") as caught:
            call()
        assert refusal(caught.value)[:2] == (grpc.StatusCode.FAILED_PRECONDITION, "WRONG_STATE")
    ada.retire("lowest", 1)
    assert list(host.start(cup).entrants) == ["lowest@1", "uniform@1", "batch@1", "montecarlo@1"]


def test_who_can_not_enter_is_told_why(service: Service, host: Contestant, ada: Contestant, bob: Contestant) -> None:
    """battlecode21#13."""
    cup = host.create(OPEN).id
    other = host.create(OPEN.replace("[entry]", '[rules]\nname = "omnibus"\n[entry]'), "two").id
    listing = host.create(OPEN + '[[entrants]]\nbot = "careful@1"\n', "three").id
    ada.enter(cup, "lowest")
    ada.enter(cup, "uniform")
    ada.submit("careful", "two")
    ada.retire("careful", 2)
    refused: list[tuple[Callable[[], object], str, str]] = [
        (lambda: ada.enter(cup, "careful"), "ENTRY_REFUSED", "ada has entered 2 bots, which is all that open-"),
        (lambda: ada.enter(cup, "batch"), "FORBIDDEN", "batch@1 is another contestant's"),
        (lambda: ada.enter(cup, "nobody"), "UNKNOWN_VERSION", "there is no bot 'nobody'"),
        (lambda: ada.enter(cup, "careful", 2), "UNKNOWN_VERSION", "careful@2 is retired; only an active version"),
        (lambda: ada.enter(cup, "lowest", side="us"), "ENTRY_REFUSED", "has no teams, so give no side"),
        (lambda: ada.enter(other, "lowest"), "ENTRY_REFUSED", "tried out in black_lady, partnership, but open-"),
        (lambda: bob.withdraw(cup, "lowest"), "FORBIDDEN", "the entry of lowest is another contestant's"),
        (lambda: ada.enter(other, "careful@1"), "ENTRY_REFUSED", "open-"),
        (lambda: ada.enter(listing, "careful"), "ENTRY_REFUSED", "lists careful among its entrants already"),
        (lambda: bob.withdraw(cup, "batch"), "ENTRY_REFUSED", "bot 'batch' has not entered open-"),
        (lambda: ada.schedule(cup), "FORBIDDEN", "needs a token with scope host"),
    ]
    for call, reason, said in refused:
        with pytest.raises(grpc.RpcError) as caught:
            call()
        assert refusal(caught.value)[1] == reason
        assert said in refusal(caught.value)[2]
    spectator = Contestant(service, "eve", Scope.SPECTATOR)
    with pytest.raises(grpc.RpcError, match="this needs a token with scope contestant"):
        spectator.enter(cup, "lowest")
    spectator.close()
    assert host.withdraw(cup, "lowest") == ["uniform@1"], "the host may"


def test_a_bot_is_entered_by_its_name_whatever_it_was_called_by(host: Contestant, ada: Contestant) -> None:
    cup = host.create(OPEN).id
    assert ada.enter(cup, "lowest@1") == ["lowest@1"]
    assert ada.enter(cup, "lowest@latest") == ["lowest@1"]
    assert ada.withdraw(cup, "lowest") == []


def test_an_entry_made_between_the_look_and_the_withdrawal_is_not_taken_back_by_another(
    service: Service, host: Contestant, ada: Contestant
) -> None:
    cup = host.create(OPEN).id
    ada.enter(cup, "lowest")
    with pytest.raises(EntryRefused, match="bot 'lowest' has not entered"):
        service.store.entries.withdraw(cup, "lowest", "bob")
    assert [entry.owner for entry in service.store.entries.entries(cup)] == ["ada"]


def test_a_full_tournament_takes_no_more(host: Contestant, ada: Contestant, bob: Contestant) -> None:
    cup = host.create(OPEN.replace("limit = 5", "limit = 4") + '[[entrants]]\nbot = "careful"\n').id
    for caller, bot in ((ada, "lowest"), (ada, "uniform"), (bob, "batch")):
        caller.enter(cup, bot)
    with pytest.raises(grpc.RpcError, match="has 3 entries, which is all that it takes"):
        bob.enter(cup, "montecarlo")
    bob.withdraw(cup, "batch")
    bob.enter(cup, "montecarlo")


def test_too_few_are_said_and_what_was_retired_does_not_hold_it_up(
    host: Contestant, ada: Contestant, bob: Contestant
) -> None:
    cup = host.create(OPEN).id
    for caller, bot in ((ada, "lowest"), (ada, "uniform"), (bob, "batch"), (bob, "montecarlo")):
        caller.enter(cup, bot)
    ada.retire("uniform", 1)
    with pytest.raises(
        grpc.RpcError, match="entrants: 3 given, but a table of black_lady seats 4; left out: uniform@1"
    ):
        host.start(cup)
    with pytest.raises(grpc.RpcError, match="ada has entered 2 bots"):
        ada.enter(cup, "careful")
    ada.withdraw(cup, "uniform")
    ada.enter(cup, "careful")
    assert list(host.start(cup).entrants) == ["lowest@1", "batch@1", "montecarlo@1", "careful@1"]


def test_who_is_left_out_is_said_and_written_down(
    service: Service, host: Contestant, ada: Contestant, bob: Contestant
) -> None:
    """Listed or entered, with a number or without: who can't play holds nobody up, and everyone sees why."""
    listed = '[[entrants]]\nbot = "careful@1"\n[[entrants]]\nbot = "uniform"\n'
    cup = host.create(OPEN.replace("limit = 5", "limit = 8") + listed).id
    for caller, bot in ((bob, "batch"), (bob, "montecarlo"), (ada, "lowest")):
        caller.enter(cup, bot)
    ada.submit("lowest", "two")
    for bot, number in (("careful", 1), ("uniform", 1), ("lowest", 1)):
        ada.retire(bot, number)
    with pytest.raises(
        grpc.RpcError, match="entrants: 2 given, but a table of black_lady seats 4; left out: careful@1"
    ):
        host.start(cup)
    assert host.create(OPEN.replace("limit = 5", "limit = 8") + listed).id == cup, (
        "the same request, whatever became of it"
    )
    ada.enter(cup, "lowest")
    ada.submit("moonshooter")
    ada.enter(cup, "moonshooter")
    started = host.start(cup)
    assert list(started.entrants) == ["batch@1", "montecarlo@1", "lowest@2", "moonshooter@1"]
    why = {
        "careful@1": "it is retired",
        "uniform": "bot 'uniform' has no active version; its latest, uniform@1, is retired",
    }
    assert {each.name: each.reason for each in started.left_out} == why
    noted = [
        (each.subject, each.detail) for each in service.store.accounts.audit(9) if each.action.endswith("leave_out")
    ]
    assert sorted(noted) == [(cup, f"{name}: {reason}") for name, reason in why.items()]
    exported = described(ada.export(cup))
    assert {each["name"]: each["reason"] for each in exported["left_out"]} == why


def test_a_version_that_is_retired_while_the_draft_is_closed_is_left_out(
    tmp_path: Path, service: Service, host: Contestant, ada: Contestant, bob: Contestant
) -> None:
    """After it was looked at, and before the plan is written."""
    cup = host.create(OPEN + '[[entrants]]\nbot = "careful"\n').id
    for caller, bot in ((ada, "lowest"), (ada, "uniform"), (bob, "batch"), (bob, "montecarlo")):
        caller.enter(cup, bot)
    going = ["careful", "uniform"]

    class Retiring(FileVersions):
        """Lets somebody retire a version between the look at all and the plan."""

        def open(self, digest: str) -> Path:
            for bot in going[:]:
                going.remove(bot)
                service.store.versions.move(bot, 1, VersionState.RETIRED, datetime.now(UTC))
            return super().open(digest)

    bob.submit("moonshooter")
    bob.withdraw(cup, "batch")
    bob.enter(cup, "moonshooter")
    with pytest.raises(SpecError, match=r"entrants: 3 given.*; left out: careful \(.*\), uniform@1 \(it is retired\)"):
        Hosting(service.store, Retiring(tmp_path / "bots")).schedule(HOST, cup, "one")
    assert not going
    assert not service.store.requests.done(Request(HOST.owner, "one", "tournament.schedule", cup))
    assert service.store.tournament(cup).state is TournamentState.DRAFT
    assert service.store.entrants(cup) == []


def test_a_version_that_is_listed_under_two_names_plays_once(
    host: Contestant, ada: Contestant, bob: Contestant
) -> None:
    listed = '[[entrants]]\nbot = "careful"\n[[entrants]]\nbot = "careful@1"\n'
    ada.submit("careful", "two")
    cup = host.create(OPEN + listed).id
    for caller, bot in ((ada, "lowest"), (ada, "uniform"), (bob, "batch")):
        caller.enter(cup, bot)
    ada.retire("careful", 2)
    started = host.start(cup)
    assert [(each.name, each.reason) for each in started.left_out] == [
        ("careful@1", "there is an entrant careful@1 already")
    ]
    assert len(started.entrants) == 4


def test_nobody_takes_the_place_of_a_champion(host: Contestant, ada: Contestant, bob: Contestant) -> None:
    gauntlet = OPEN.replace("[match]", 'format = "gauntlet"\n[match]').replace("limit = 5", "limit = 6")
    cup = host.create(gauntlet + '[[entrants]]\nbot = "careful"\n').id
    for caller, bot in ((ada, "lowest"), (ada, "uniform"), (bob, "batch"), (bob, "montecarlo")):
        caller.enter(cup, bot)
    ada.retire("careful", 1)
    with pytest.raises(grpc.RpcError, match=r"entrants.1.bot: careful is a champion of the gauntlet and can't play"):
        host.start(cup)
    ada.submit("careful", "two")
    assert host.start(cup).entrants[0] == "careful@2"


def test_a_draft_is_exported_with_who_is_listed_and_who_entered(host: Contestant, ada: Contestant) -> None:
    seed = "0f" * 32
    cup = host.create(f'deal_seed = "{seed}"\n' + OPEN + '[[entrants]]\nbot = "careful"\n').id
    ada.enter(cup, "lowest")
    archive = ada.export(cup)
    exported = described(archive)
    assert exported["entries"] == [{"bot": "lowest", "version": 1, "owner": "ada", "side": ""}]
    assert exported["listed"] == [{"bot": "careful"}]
    assert exported["entry"] == {"per_owner": 2, "limit": 5}
    assert (exported["entrants"], exported["left_out"]) == ([], [])
    assert seed not in gzip.decompress(archive).decode(), "the deals are nobody's yet"


def test_partners_enter_as_a_side(host: Contestant, ada: Contestant, bob: Contestant) -> None:
    cup = host.create(TEAMS).id
    with pytest.raises(grpc.RpcError, match="has teams, so name a side"):
        ada.enter(cup, "lowest")
    ada.enter(cup, "lowest", side="north")
    with pytest.raises(grpc.RpcError, match="side 'north' is another contestant's; choose another name"):
        bob.enter(cup, "batch", side="north")
    with pytest.raises(grpc.RpcError, match="side 'a b': write letters"):
        bob.enter(cup, "batch", side="a b")
    for caller, bot, side in ((bob, "batch", "east"), (ada, "uniform", "north"), (bob, "montecarlo", "east")):
        caller.enter(cup, bot, side=side)
    ada.enter(cup, "uniform", side="north")
    assert list(host.start(cup).entrants) == ["lowest@1", "batch@1", "uniform@1", "montecarlo@1"]


def test_sides_that_are_full_or_listed_take_no_more(host: Contestant, ada: Contestant) -> None:
    """Either would leave the whole side out in the end."""
    roomy = TEAMS.replace("per_owner = 2", "per_owner = 3").replace("limit = 4", "limit = 8")
    ada.submit("moonshooter")
    ada.submit("batch")
    own = "".join(f'[[entrants]]\nbot = "{bot}"\nside = "house"\n' for bot in ("moonshooter", "batch"))
    cup = host.create(roomy + own).id
    with pytest.raises(grpc.RpcError, match=r"side 'house' is listed by open-[0-9a-f]+ itself; choose another name"):
        ada.enter(cup, "lowest", side="house")
    for bot in ("lowest", "uniform"):
        ada.enter(cup, bot, side="north")
    with pytest.raises(grpc.RpcError, match="side 'north' has 2 bots, which is all of it; choose another name"):
        ada.enter(cup, "careful", side="north")
    ada.retire("batch", 1)
    with pytest.raises(grpc.RpcError, match=r"entrants: 2 given.*moonshooter .its side 'house' is not complete"):
        host.start(cup)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("per_owner = 2", "per_owner = 0", "entry.per_owner: is 0; write a whole number from 1 to 1000"),
        (
            "[entry]\nper_owner = 2",
            '[rules]\nname = "partnership"\n[entry]',
            "entry.per_owner: is 1, but a side is one",
        ),
        ('name = "open"', "name = " + "[" * 20_000, "definition: is nested too deeply"),
        ("limit = 5", 'limit = "5"', "entry.limit: is '5'"),
        ("limit = 5", "most = 5", "entry.most: unknown key; known are: per_owner, limit"),
        ("limit = 5", "limit = 3", "entrants: 3 given, but a table of black_lady seats 4"),
        (
            "limit = 5",
            "limit = 1\n[[entrants]]\nbot='a'\n[[entrants]]\nbot='b'",
            "entry.limit: is 1, but the file lists 2",
        ),
        ("[entry]", "[[entry]]", "entry: is no table; write [entry]"),
        ("boards = 2", "boards = 0", "match.boards: input should be greater"),
        ("[entry]", 'format = "chess"\n[entry]', "match.format: "),
        ("[entry]", '[rules]\nname = "whist"\n[entry]', "whist"),
        ("[entry]", "[[entrants]]\nbot = 'nobody'\n[entry]", "entrants.1.bot: there is no bot 'nobody'"),
    ],
)
def test_a_draft_is_checked_as_far_as_it_goes(host: Contestant, old: str, new: str, said: str) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        host.create(OPEN.replace(old, new))
    assert said in refusal(caught.value)[2]


def test_a_draft_has_no_standings(host: Contestant) -> None:
    with pytest.raises(grpc.RpcError, match="is a draft; it has standings once it is scheduled") as caught:
        host.standings(host.create(OPEN).id)
    assert refusal(caught.value)[1] == "WRONG_STATE"


def test_a_request_to_enter_or_withdraw_that_comes_again_changes_nothing(host: Contestant, ada: Contestant) -> None:
    """Late, after something else was asked for: it was done, and is not done anew."""
    draft = host.create(OPEN).id
    enter = pb.EnterTournamentRequest(tournament=draft, bot="lowest", request_id="in")
    withdraw = pb.WithdrawFromTournamentRequest(tournament=draft, bot="lowest", request_id="out")

    def entered() -> tuple[str, list[str]]:
        answer = ada.stub.EnterTournament(enter, metadata=ada.metadata)
        return answer.entered, list(answer.tournament.entrants)

    def withdrawn() -> list[str]:
        return list(ada.stub.WithdrawFromTournament(withdraw, metadata=ada.metadata).tournament.entrants)

    assert entered() == entered() == ("lowest@1", ["lowest@1"])
    assert withdrawn() == []
    assert entered() == ("", []), "which was withdrawn since"
    assert ada.enter(draft, "lowest") == ["lowest@1"]
    assert withdrawn() == ["lowest@1"], "which was entered since"
    with pytest.raises(grpc.RpcError, match=r"request id .in. was used for tournament\.enter") as caught:
        ada.stub.EnterTournament(
            pb.EnterTournamentRequest(tournament=draft, bot="uniform", request_id="in"), metadata=ada.metadata
        )
    assert refusal(caught.value)[1] == "NAME_TAKEN"
    withdraw.bot = "uniform"
    with pytest.raises(grpc.RpcError, match=r"request id .out. was used for tournament\.withdraw") as caught:
        withdrawn()
    assert refusal(caught.value)[1] == "NAME_TAKEN"
