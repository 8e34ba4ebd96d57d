"""The files of ``deploy/`` and the page about operations name only what there is, and all of it."""

from __future__ import annotations

import json
import re
import shlex
from configparser import ConfigParser
from pathlib import Path

import pytest
import typer
import yaml

from arbiter.cli.main import app
from arbiter.cli.service import KILL_AFTER
from arbiter.telemetry import metrics
from workers.settings import DRAIN_SECONDS

REPOSITORY = Path(__file__).parent.parent.parent
DEPLOY = REPOSITORY / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
PARTS = [name for name, part in COMPOSE["services"].items() if part["image"] == "hearts-arbiter"]
OPERATIONS = (REPOSITORY / "docs" / "operations.md").read_text()

NAMED = re.compile(r"ARBITER_[A-Z_]+[A-Z]")
INTERNAL = {"ARBITER_RUN_DIR", "ARBITER_CACHE_DIR", "ARBITER_SPOOL_DIR", "ARBITER_HIDDEN", "ARBITER_WORKER_NAME"}
"""What commands tell the workers that they start."""
OTHERS = {"ARBITER_TOKEN", "ARBITER_ADDRESS", "ARBITER_API_TOKEN", "ARBITER_API_TOKEN_FILE", "ARBITER_SERVER"}
"""What bots and contestants are told."""


def settings() -> set[str]:
    """Every variable that the source names."""
    files = [path for part in ("arbiter", "workers") for path in (REPOSITORY / part).rglob("*.py")]
    return {name for path in files for name in NAMED.findall(path.read_text())}


def check_command(words: list[str]) -> None:
    """A command line of ``arbiter`` is one that it knows."""
    group = typer.main.get_command(app)
    command = group.commands[words[0]]  # type: ignore[attr-defined]  # a group, which has no type of its own to import
    options = {name for parameter in command.params for name in parameter.opts}
    flags = [word for word in words[1:] if word.startswith("--")]
    assert flags
    assert set(flags) <= options


@pytest.mark.parametrize("name", PARTS)
def test_the_compose_file_runs_commands_that_there_are(name: str) -> None:
    check_command(COMPOSE["services"][name]["command"])


def test_the_compose_file_has_every_part_and_what_it_mounts() -> None:
    assert PARTS == ["serve", "coordinator", "worker"]
    context = (DEPLOY / COMPOSE["services"]["serve"]["build"]["context"]).resolve()
    assert (context / COMPOSE["services"]["serve"]["build"]["dockerfile"]).is_file()
    named = {each.partition(":")[0] for part in COMPOSE["services"].values() for each in part.get("volumes", [])}
    assert {name for name in named if not name.startswith(".")} == set(COMPOSE["volumes"])
    grace = COMPOSE["services"]["worker"]["stop_grace_period"]
    assert int(grace.removesuffix("s")) >= DRAIN_SECONDS + KILL_AFTER


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.stem)
def test_a_unit_runs_a_command_that_there_is(path: Path) -> None:
    unit = ConfigParser(interpolation=None, comment_prefixes=("#",))
    unit.optionxform = str  # type: ignore[assignment,method-assign]  # names of settings have capital letters
    unit.read(path)
    service = unit["Service"]
    program, *words = shlex.split(service["ExecStart"])
    assert Path(program).name == "arbiter"
    assert path.stem == f"hearts-arbiter-{words[0]}"
    check_command(words)
    assert service["KillMode"] == "mixed", "else workers get the signal twice, which hurries them"
    if words[0] == "worker":
        assert int(service["TimeoutStopSec"]) >= DRAIN_SECONDS + KILL_AFTER
    name = service["Environment"].partition("=")[0]
    assert name in settings()


def test_every_part_has_a_unit() -> None:
    assert [path.stem.removeprefix("hearts-arbiter-") for path in UNITS] == ["coordinator", "serve", "worker"]


def test_the_image_is_built_from_files_that_there_are() -> None:
    lines = (DEPLOY / "Dockerfile").read_text().replace("\\\n", " ").splitlines()
    copied = [word for line in lines if line.startswith("COPY ") for word in shlex.split(line)[1:-1]]
    assert copied
    assert all((REPOSITORY / each).exists() for each in copied)
    words = {line.partition(" ")[0]: line.partition(" ")[2] for line in lines}
    assert json.loads(words["ENTRYPOINT"]) == ["arbiter"]
    check_command(json.loads(words["CMD"]))


@pytest.mark.parametrize(
    "path", [*DEPLOY.rglob("*"), REPOSITORY / "docs" / "operations.md"], ids=lambda path: path.name
)
def test_every_setting_that_is_named_exists(path: Path) -> None:
    if path.is_file():
        assert set(NAMED.findall(path.read_text())) <= settings()


def test_every_setting_of_a_service_is_documented() -> None:
    assert settings() - INTERNAL - OTHERS - set(NAMED.findall(OPERATIONS)) == set()


def test_every_metric_that_is_named_exists_and_all_are_named() -> None:
    families = {family.name for family in metrics.REGISTRY.collect() if family.name.startswith("hearts_")}
    named = {name.removesuffix("_total") for name in re.findall(r"hearts_[a-z_]+[a-z]", OPERATIONS)}
    assert named <= families
    assert families - named == {"hearts_leases", "hearts_bots_sent", "hearts_sittings_sent", "hearts_worker_busy"}
