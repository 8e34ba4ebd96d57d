"""``arbiter service`` as a host and a contestant type it, against a service in this process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from arbiter.store import Scope
from tests.cli.conftest import Call, Outcome
from tests.service.test_entering import OPEN, Contestant, accept
from tests.service.test_registry import Service, serving
from tests.service.test_tournaments import FILE, play


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with serving(tmp_path, validate=accept) as found:
        yield found


@pytest.fixture
def ada(service: Service) -> Iterator[Contestant]:
    caller = Contestant(service, "ada")
    for name in ("lowest", "uniform", "careful", "batch", "montecarlo"):
        caller.submit(name)
    yield caller
    caller.close()


class Users:
    """Runs ``arbiter service`` for a user."""

    def __init__(self, call: Call, service: Service, folder: Path) -> None:
        self._call = call
        self._service = service
        self._folder = folder

    def __call__(self, owner: str, *arguments: str | Path) -> Outcome:
        token = self._folder / owner
        if not token.exists():
            scope = Scope.HOST if owner == "hal" else Scope.CONTESTANT
            token.write_text(self._service.token(owner, scope))
        where = ("--server", self._service.address, "--token-file", token)
        return self._call("service", *arguments, *where)


@pytest.fixture
def user(call: Call, service: Service, tmp_path: Path) -> Users:
    folder = tmp_path / "tokens"
    folder.mkdir()
    return Users(call, service, folder)


def test_a_draft_from_its_file_to_its_start(user: Users, ada: Contestant, tmp_path: Path) -> None:
    file = tmp_path / "open.toml"
    file.write_text(OPEN.replace("per_owner = 2", "per_owner = 9") + '[[entrants]]\nbot = "careful"\n')
    made = user("hal", "create", file)
    cup = made.output.strip()
    (listed,) = json.loads(user("ada", "list", "--json").output)
    assert (listed["id"], listed["state"], listed["entrants"]) == (cup, "draft", ["careful"])
    assert made.errors == f"{cup} is draft\n"
    for typed, entered in (("lowest", 1), ("uniform@latest", 1), ("batch@1", 1), ("montecarlo", 1)):
        said = f"{typed.partition('@')[0]}@{entered} is entered; {cup} is draft\n"
        assert user("ada", "enter", "open", typed).errors == said
    ada.retire("uniform", 1)
    ada.submit("careful", "two")
    closed = user("hal", "schedule", "open")
    left_out = "left out: uniform@1: it is retired\n"
    assert closed.errors == f"{cup} is scheduled, with careful@2, lowest@1, batch@1, montecarlo@1\n{left_out}"
    assert user("hal", "start", "open").errors == f"{cup} is running\n{left_out}"


def test_an_empty_list_says_so(user: Users) -> None:
    empty = user("ada", "list")
    assert (empty.output, empty.errors) == (
        "",
        "no tournaments yet; the host makes one with: arbiter service create FILE\n",
    )
    assert user("ada", "list", "--json").output == "[]\n"


def test_what_names_no_version_is_refused_in_one_line(user: Users, ada: Contestant, tmp_path: Path) -> None:
    file = tmp_path / "open.toml"
    file.write_text(OPEN)
    user("hal", "create", file)
    for typed, said in (
        ("", "bot: is missing"),
        ("@", "'@' names no version; write BOT@N"),
        ("@latest", "bot: is missing"),
        ("lowest@", "'lowest@' names no version; write BOT@N"),
        ("lowest@0", "'lowest@0' names no version"),
        ("lowest@1@latest", "'lowest@1@latest' names no version"),
        ("a@lowest@1", "a@lowest"),
        ("lowest@99", "there is no version lowest@99"),
        ("lowest@999999999999", "names no version"),
        ("low\nest", "there is no bot"),
    ):
        refused = user("ada", "enter", "open", typed)
        assert (refused.status, refused.output, refused.errors.count("\n")) == (2, "", 1)
        assert refused.errors.startswith("error: ")
        assert said in refused.errors


def test_standings_at_a_service_are_those_on_the_machine(
    user: Users, call: Call, service: Service, ada: Contestant, tmp_path: Path
) -> None:
    file = tmp_path / "cup.toml"
    file.write_text(FILE)
    ada.submit("lowest", "two")
    cup = user("hal", "create", file, "--start").output.strip()
    play(service, cup, 4)
    (database,) = tmp_path.rglob("arbiter.db")
    here = call("tournament", "standings", cup, "--details", "--data-dir", database.parent)
    shown = user("ada", "standings", "cup", "--details")
    assert (here.status, shown.status, shown.errors) == (0, 0, "")
    assert shown.output == here.output
    assert "Crosstable" in shown.output
    assert "moons per 100 hands" in shown.output
    told = json.loads(user("ada", "standings", "cup", "--details", "--json").output)
    assert [row["name"] for row in told["details"]] == ["lowest@1", "newest", "uniform@1", "batch@1"]
    assert "details" not in json.loads(user("ada", "standings", "cup", "--json").output)
