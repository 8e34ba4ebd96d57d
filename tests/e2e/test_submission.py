"""A first submission from an environment with the base install alone, over TLS, to a service as a process."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from arbiter.service import tls
from tests.e2e.support import COMMAND, REPOSITORY, SAMPLES, Place, bots_of, environment, held_worker, new_place, until
from tests.patience import PATIENCE


@pytest.fixture(scope="module")
def base() -> Iterator[Path]:
    """The command of an environment that holds what a contestant installs, and nothing else."""
    uv = Path(sys.executable).parent / "uv"
    with tempfile.TemporaryDirectory() as scratch:
        made = Path(scratch, "venv")
        subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, made], check=True)
        subprocess.run([uv, "pip", "install", "--quiet", "--python", made, REPOSITORY], check=True)
        for package in ("sqlalchemy", "celery", "numpy", "cryptography"):
            assert subprocess.run([made / "bin/python", "-c", f"import {package}"], capture_output=True).returncode == 1
        yield made / "bin" / "arbiter"


@pytest.fixture
def fresh() -> Iterator[Place]:
    """A place of this test's own: names of bots are taken once and for all."""
    with new_place() as found:
        yield found


@contextmanager
def service(place: Place, port: str = "0") -> Iterator[tuple[str, str]]:
    """A running service; its address, and the path of its certificate."""
    options = ["--address", f"127.0.0.1:{port}", "--self-signed", "127.0.0.1", "--data-dir", str(place.data)]
    process = subprocess.Popen(
        [*COMMAND, "up", *options],
        env=environment(place.temporary),
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stderr is not None
    certificate = process.stderr.readline().rpartition(" ")[2].strip()
    address = process.stderr.readline().rpartition(" ")[2].strip()
    assert re.fullmatch(r"127\.0\.0\.1:\d+", address), address
    try:
        yield address, certificate
    finally:
        process.terminate()
        _, rest = process.communicate(timeout=PATIENCE)
    assert (process.returncode, "Traceback" in rest, "Warning" in rest) == (0, False, False), rest


def test_from_a_clean_machine_to_an_active_version(place: Place, base: Path, tmp_path: Path) -> None:
    made = place.run("token", "create", "ada", "--json")
    assert made.returncode == 0, made.stderr
    token = json.loads(made.stdout)
    bot = tmp_path / "mine"
    shutil.copytree(SAMPLES / "lowest", bot, ignore=shutil.ignore_patterns("__pycache__"))
    broken = tmp_path / "broken"
    shutil.copytree(bot, broken)
    (broken / "bot.toml").write_text((bot / "bot.toml").read_text().replace('"lowest"', '"broken"'))
    (broken / "bot.py").write_text("raise SystemExit('no model file')\n")
    left = [place.data / "bots" / ("0" * 64), place.data / "registry" / "staging" / ".staging-killed"]
    for folder in left:
        folder.mkdir(parents=True)
        os.utime(folder, (1, 1))
    with service(place) as (address, certificate):
        until(lambda: not any(folder.exists() for folder in left), "what nothing needs is deleted")
        clean = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "ARBITER_API_TOKEN": token["token"]}
        clean |= {"ARBITER_SERVER": address, "ARBITER_CA": certificate, "COLUMNS": "200"}

        def arbiter(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                [base, *arguments], env=clean, capture_output=True, text=True, timeout=PATIENCE, cwd=tmp_path
            )

        submitted = arbiter("bot", "submit", bot, "--wait", "--message", "first try")
        assert (submitted.returncode, submitted.stdout) == (0, "lowest@1 is active\n"), submitted.stderr
        assert re.fullmatch(r"(lowest@1 is (received|building|validating)\n)*", submitted.stderr)
        assert place.workers()
        assert b"arb_" not in place.arguments(), "every user of the machine can read them"
        again = arbiter("bot", "submit", bot, "--wait", "--message", "first try", "--json")
        assert json.loads(again.stdout)["number"] == 1

        failed = arbiter("bot", "submit", broken, "--wait")
        assert failed.returncode == 1
        assert failed.stdout.startswith("broken@1 is failed: black_lady: CRASH at sitting: ended before its greeting")
        assert failed.stderr.strip().endswith("its log: arbiter bot logs broken@1")
        assert "no model file" in arbiter("bot", "logs", "broken@1").stdout

        listed = json.loads(arbiter("bot", "versions", "--json").stdout)
        assert [(version["bot"], version["state"]) for version in listed] == [
            ("broken", "failed"),
            ("lowest", "active"),
        ]
        assert arbiter("bot", "retire", "lowest@1").returncode == 0
        refused = arbiter("bot", "retire", "lowest@1")
        assert (refused.returncode, refused.stderr) == (
            2,
            "error: version lowest@1 is retired and can't become retired\n",
        )
        revived = arbiter("bot", "submit", bot, "--wait", "--message", "first try")
        assert (revived.returncode, revived.stdout) == (1, "lowest@1 is retired\n")
        assert revived.stderr == "to submit the same content anew, give another --message\n"

        strange = arbiter("bot", "versions", "--ca", tls.self_signed(tmp_path / "other", ["127.0.0.1"])[0])
        assert strange.returncode == 2
        assert (
            strange.stderr
            == f"error: the certificate of {address} is not trusted; give the service's own with --ca FILE\n"
        )

        assert place.run("token", "revoke", token["id"]).returncode == 0
        gone = arbiter("bot", "versions")
        assert gone.returncode == 2
        assert gone.stderr.startswith("error: no valid token: set ARBITER_API_TOKEN")
        assert gone.stderr.count("\n") == 1


def test_two_submissions_at_once_in_one_folder_both_come_to_an_end(fresh: Place) -> None:
    """One of them holds the versions first, and is not there for the other's."""
    running = [fresh.start("bot", "submit", SAMPLES / name) for name in ("lowest", "uniform")]
    said = [process.communicate(timeout=PATIENCE) for process in running]
    assert [process.returncode for process in running] == [0, 0], said
    assert [output for output, _ in said] == ["lowest@1 is active\n", "uniform@1 is active\n"]


def test_a_competition_from_submissions_to_standings(fresh: Place, tmp_path: Path) -> None:
    """Contestants submit, the host holds a tournament and pauses it, all follow it; the service ends in the middle."""
    tokens = {}
    for owner, scope in (("hal", "host"), ("ada", "contestant"), ("bob", "contestant"), ("eve", "spectator")):
        tokens[owner] = json.loads(fresh.run("token", "create", owner, "--scope", scope, "--json").stdout)["token"]
    cup = tmp_path / "cup.toml"
    listed = "".join(f'[[entrants]]\nbot = "{name}"\n' for name in ("careful", "batch@1"))
    cup.write_text('name = "cup"\nworkers = 2\n[match]\nboards = 64\n[entry]\n' + listed)

    def settings(owner: str, address: str, certificate: str) -> dict[str, str]:
        where = {"ARBITER_SERVER": address, "ARBITER_CA": certificate, "ARBITER_API_TOKEN": tokens[owner]}
        return environment(fresh.temporary) | where

    def caller(address: str, certificate: str) -> Callable[..., subprocess.CompletedProcess[str]]:
        def call(owner: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
            clean = settings(owner, address, certificate)
            return subprocess.run([*COMMAND, *arguments], env=clean, capture_output=True, text=True, timeout=PATIENCE)

        return call

    with service(fresh) as (address, certificate):
        call = caller(address, certificate)

        def submit(owner: str, name: str) -> None:
            sent = call(owner, "bot", "submit", SAMPLES / name, "--wait")
            assert (sent.returncode, sent.stdout) == (0, f"{name}@1 is active\n"), sent.stderr

        with ThreadPoolExecutor() as pool:
            list(pool.map(submit, ("ada", "ada", "bob", "bob"), ("lowest", "careful", "uniform", "batch")))
        refused = call("ada", "service", "create", cup)
        assert (refused.returncode, "needs a token with scope host" in refused.stderr) == (2, True)
        made = call("hal", "service", "create", cup)
        tournament = made.stdout.strip()
        assert made.stderr == f"{tournament} is draft\n"
        for owner, version in (("ada", "lowest@1"), ("bob", "uniform")):
            entered = call(owner, "service", "enter", "cup", version)
            assert entered.stderr == f"{version.partition('@')[0]}@1 is entered; {tournament} is draft\n"
        assert "bot 'careful' has not entered" in call("ada", "service", "withdraw", "cup", "careful").stderr
        assert call("hal", "service", "start", "cup").stderr == f"{tournament} is running\n"

        def bots() -> list[int]:
            return [bot for worker in fresh.workers() for bot in bots_of(worker)]

        with held_worker(fresh):
            paused = call("hal", "service", "pause", tournament)
        assert (paused.returncode, paused.stderr) == (0, f"{tournament} is paused\n")
        until(lambda: not bots(), "nothing is played while it is paused")
        assert call("eve", "service", "watch", tournament).stderr.endswith(f"{tournament} is paused\n")
        resumed = call("hal", "service", "resume", tournament)
        assert (resumed.returncode, resumed.stderr) == (0, f"{tournament} is running\n")
        until(lambda: bool(bots()), "it is played again")
    until(lambda: not fresh.processes(), "nothing outlives the service")
    with service(fresh) as (address, certificate):
        call = caller(address, certificate)
        watch = [*COMMAND, "service", "watch", tournament]
        with subprocess.Popen(
            watch, env=settings("eve", address, certificate), stderr=subprocess.PIPE, text=True
        ) as watching:
            assert watching.stderr is not None
            with held_worker(fresh):  # so that it is not completed before it is followed
                assert re.match(rf"{tournament} is running: \d+ of \d+ sittings, ", watching.stderr.readline())
            assert watching.stderr.read().splitlines()[-1] == f"{tournament} is completed"
        assert watching.returncode == 0
        shown = call("eve", "service", "standings", "cup-").stdout
        assert re.search(r"\b1\b.*\b(careful|batch)@1\b", shown)
        replay = tmp_path / "replay.jsonl"
        replay.write_text(call("eve", "service", "replay", f"{tournament}/0/0").stdout)
        assert call("eve", "replay", "verify", replay).returncode == 0
        archive = tmp_path / "cup.tar.gz"
        assert call("eve", "service", "export", "cup", "--output", archive).stdout == f"{archive}\n"
        with tarfile.open(archive) as found:
            assert f"{tournament}/replays/0-0.jsonl" in found.getnames()
        assert list(tmp_path.glob(".*")) == []
        logs = call("ada", "service", "logs", f"{tournament}/0/0").stdout
        assert "careful@1: exit status 0" in logs
        assert "uniform@1" not in logs
        again = call("hal", "service", "cancel", tournament)
        assert (again.returncode, again.stderr.count("\n")) == (2, 1)
        assert tournament in call("eve", "service", "list").stdout


@pytest.mark.parametrize("command", ["up", "serve"])
@pytest.mark.parametrize("option", ["--address", "--listen"])
def test_other_machines_are_not_served_in_plain_text_unasked(place: Place, command: str, option: str) -> None:
    refused = place.run(command, option, "0.0.0.0:0")
    assert refused.returncode == 2
    assert refused.stderr.startswith("error: 0.0.0.0:0: other machines may dial it, and without TLS everybody between")
