"""Builds: what they make is a version, and whatever they do to this machine instead is stopped and named."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from arbiter.cage import (
    BotProcess,
    CageError,
    CageSettings,
    Limits,
    Runtime,
    RuntimeMissing,
    Runtimes,
    load_manifest,
    verify_snapshot,
)
from arbiter.cage.runtimes import interpreter
from arbiter.packages import (
    BuildEnd,
    Builder,
    BuildLimits,
    BuildResult,
    FileVersions,
    PackageLimits,
    VersionMissing,
    build,
)
from tests.cage.support import open_folder

SHELL = Runtime("shell", build=("/bin/sh", "build.sh"))
PYTHON = Runtime("py", build=("{python}", "build.py"))
MACHINE = Limits(memory=512 << 20, processes=32, tmp=16 << 20)
RESULT = PackageLimits(archive_bytes=8 << 20, unpacked_bytes=8 << 20, file_bytes=4 << 20, entries=100, ratio=1100)
PLENTY = BuildLimits(seconds=90.0, printed_bytes=1 << 20, log_bytes=4096, machine=MACHINE, result=RESULT)
SETTINGS = CageSettings(runtimes=Runtimes({"shell": SHELL, "py": PYTHON}, "the test"))


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    with open_folder() as folder:
        yield folder


@pytest.fixture(scope="module")
def versions(place: Path) -> FileVersions:
    return FileVersions(place / "versions")


@pytest.fixture(scope="module")
def builder(place: Path, versions: FileVersions) -> Builder:
    return Builder(versions, place / "staging", SETTINGS, PLENTY)


@pytest.fixture(autouse=True)
def nothing_is_left(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (place / "tmp").mkdir(exist_ok=True)
    assert tmp_path.is_dir(), "pytest's own is made before, elsewhere"
    monkeypatch.setattr(tempfile, "tempdir", str(place / "tmp"))
    yield
    assert not list((place / "staging").glob("*")), "what was not checked yet is gone"
    assert not list((place / "tmp").glob("build-*")), "sockets and results on their way are gone"


def put(versions: FileVersions, tmp_path: Path, runtime: Runtime, files: dict[str, str], run: str = "./bot") -> str:
    folder = tmp_path / "source"
    folder.mkdir(parents=True)
    manifest = f'[bot]\nname = "made"\nruntime = "{runtime.name}"\nrun = ["{run}"]\n'
    for name, text in {"bot.toml": manifest, **files}.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(textwrap.dedent(text))
    return versions.put(folder).digest


def shell(builder: Builder, versions: FileVersions, tmp_path: Path, script: str) -> BuildResult:
    return asyncio.run(builder.build(put(versions, tmp_path, SHELL, {"build.sh": script}), SHELL))


def python(builder: Builder, versions: FileVersions, tmp_path: Path, script: str) -> BuildResult:
    return asyncio.run(builder.build(put(versions, tmp_path, PYTHON, {"build.py": script}), PYTHON))


def test_what_was_built_is_a_version_of_its_own(builder: Builder, versions: FileVersions, tmp_path: Path) -> None:
    source = put(
        versions, tmp_path, SHELL, {"build.sh": "echo made; printf '#!' >bot; chmod +x bot; mkdir d; cp bot d/x"}
    )
    result = asyncio.run(builder.build(source, SHELL))
    assert (result.end, result.ok, result.log) == (BuildEnd.BUILT, True, b"made\n")
    assert result.digest is not None
    built = versions.open(result.digest)
    assert sorted(path.name for path in built.iterdir()) == ["bot", "bot.toml", "build.sh", "d"]
    assert (built / "bot").stat().st_mode & 0o111
    assert load_manifest(built, SETTINGS.runtimes).run == ("./bot",)
    assert not (versions.open(source) / "bot").exists(), "the source stays as it was"


def test_the_same_build_gives_the_same_version(builder: Builder, versions: FileVersions, tmp_path: Path) -> None:
    source = put(versions, tmp_path, SHELL, {"build.sh": "printf '#!' >bot; chmod +x bot"})
    first, second = (asyncio.run(builder.build(source, SHELL)) for _ in range(2))
    assert first.digest == second.digest is not None


def test_a_build_that_is_not_needed(builder: Builder, versions: FileVersions, tmp_path: Path) -> None:
    source = put(versions, tmp_path, SHELL, {})
    result = asyncio.run(builder.build(source, Runtimes.from_environment({})["executable"]))
    assert (result.end, result.digest) == (BuildEnd.NOT_NEEDED, source)


def test_links_of_a_build_become_copies_or_are_left_out(
    builder: Builder, versions: FileVersions, tmp_path: Path
) -> None:
    script = "printf '#!' >real; chmod +x real; ln -s real bot; ln -s /bin/sh outside; ln -s no where; mkfifo pipe"
    result = shell(builder, versions, tmp_path, script)
    assert result.digest is not None
    built = versions.open(result.digest)
    assert sorted(path.name for path in built.iterdir()) == ["bot", "bot.toml", "build.sh", "real"]
    assert b"outside: left out, not a file of the folder" in result.log


def test_a_build_sees_no_network_no_host_and_no_tokens(
    builder: Builder, versions: FileVersions, tmp_path: Path, place: Path
) -> None:
    """aichallenge#15."""
    (place / "secret").write_text("x")
    script = f"""\
        import os, pathlib, socket
        assert not pathlib.Path({str(place / "secret")!r}).exists()
        assert not pathlib.Path("/etc/passwd").exists()
        assert not [name for name in os.environ if name.startswith("ARBITER")], os.environ
        assert os.getuid() != 0
        for address in (("127.0.0.1", 53), ("192.0.2.1", 80)):
            try:
                socket.create_connection(address, timeout=5)
            except OSError:
                continue
            raise SystemExit("a connection")
        try:
            pathlib.Path("/bot/x").write_text("x")
        except OSError:
            pathlib.Path("bot").write_text("#!")
            pathlib.Path("bot").chmod(0o755)
    """
    result = python(builder, versions, tmp_path, script)
    assert result.end is BuildEnd.BUILT, result.log


def test_a_command_that_fails(builder: Builder, versions: FileVersions, tmp_path: Path) -> None:
    result = shell(builder, versions, tmp_path, "echo no such header >&2; exit 3")
    assert (result.end, result.ok) == (BuildEnd.FAILED, False)
    assert result.detail == "the build command: exit status 3"
    assert result.log == b"no such header\n"


def test_a_command_that_kills_itself(builder: Builder, versions: FileVersions, tmp_path: Path) -> None:
    assert shell(builder, versions, tmp_path, "kill -9 $$").end is BuildEnd.FAILED


def test_a_command_that_kills_what_runs_it(builder: Builder, versions: FileVersions, tmp_path: Path) -> None:
    result = shell(builder, versions, tmp_path, "kill -9 -1; sleep 1000")
    assert (result.end, result.digest) == (BuildEnd.FAILED, None)


def test_a_flood_of_output_is_stopped(builder: Builder, versions: FileVersions, tmp_path: Path) -> None:
    result = shell(builder, versions, tmp_path, "echo first; while :; do echo flood; done")
    assert (result.end, result.detail) == (BuildEnd.OUTPUT, "printed more than 1048576 bytes and was stopped")
    assert result.log.startswith(b"first\nflood\n")
    assert len(result.log) < 4096 + 100


# A bomb goes off only behind the limit that must stop it, and never further than a little beyond.
FORKS = """\
    import os, resource, sys, time
    soft, hard = resource.getrlimit(resource.RLIMIT_NPROC)
    assert hard == 32, hard
    for _ in range(64):
        try:
            if os.fork() == 0:
                time.sleep(1000)
                os._exit(0)
        except OSError as error:
            if {patient}:
                print(error, flush=True)
                time.sleep(1000)
            raise
    raise SystemExit("no limit")
"""


def test_a_fork_bomb_is_stopped(builder: Builder, versions: FileVersions, tmp_path: Path) -> None:
    result = python(builder, versions, tmp_path, FORKS.format(patient=False))
    assert result.end is BuildEnd.PROCESSES, result.log
    assert result.detail.startswith("needed more than 32 processes and threads")


class Watched(Builder):
    """Keeps what it builds with."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.processes: list[BotProcess] = []

    async def _watch(self, process: BotProcess, begun: float) -> tuple[BuildEnd, str]:
        self.processes.append(process)
        return await super()._watch(process, begun)


def test_what_takes_too_long_is_stopped_and_named_for_what_it_lacked(
    versions: FileVersions, tmp_path: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When both are where they stay for ever their time is over, however long that took (aichallenge#15)."""
    builder = Watched(versions, place / "staging", SETTINGS, PLENTY)

    def now() -> float:
        said = [process.printed > 0 for process in builder.processes]
        return time.monotonic() + (PLENTY.seconds if said == [True, True] else 0.0)

    monkeypatch.setattr(build, "time", SimpleNamespace(monotonic=now))
    stubborn = "trap '' TERM; setsid sleep 1000 & echo begun; sleep 1000"
    sources = [
        put(versions, tmp_path / "sleeps", SHELL, {"build.sh": stubborn}),
        put(versions, tmp_path / "forks", PYTHON, {"build.py": FORKS.format(patient=True)}),
    ]

    async def both() -> tuple[BuildResult, BuildResult]:
        return await asyncio.gather(builder.build(sources[0], SHELL), builder.build(sources[1], PYTHON))

    slept, forked = asyncio.run(both())
    assert (slept.end, slept.detail) == (BuildEnd.TIMEOUT, "took longer than 90 s and was stopped")
    assert slept.log == b"begun\n"
    assert forked.end is BuildEnd.PROCESSES, forked.log


def test_memory(builder: Builder, versions: FileVersions, tmp_path: Path) -> None:
    script = """\
        import resource
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        assert 0 < hard <= 2 << 30, hard
        bytearray(4 << 30)
    """
    result = python(builder, versions, tmp_path, script)
    assert result.end is BuildEnd.OUT_OF_MEMORY, result.log
    assert result.detail.startswith("needed more than 512 MiB of memory")


@pytest.mark.parametrize(
    "script",
    ["head -c 20000000 /dev/zero >x", "for i in 1 2 3 4 5; do head -c 5000000 /dev/zero >x$i || exit; done"],
    ids=["one file", "many files"],
)
def test_disk(builder: Builder, versions: FileVersions, tmp_path: Path, script: str) -> None:
    result = shell(builder, versions, tmp_path, script)
    assert result.end is BuildEnd.DISK, (result.detail, result.log)
    assert result.detail.startswith("wrote more than 16 MiB")


REFUSED: dict[str, tuple[str, str]] = {
    "no manifest": ("rm bot.toml", r"no bot\.toml in it"),
    "no program": ("true", r"run names './bot', which is not a file of the build's result"),
    "not executable": ("touch bot", r"run names './bot', which is not executable"),
    "bad name": ("touch 'a\\b'", r"a backslash in the name"),
    "too many files": ("i=0; while [ $i -lt 100 ]; do : >f$i; i=$((i+1)); done", r"more than 100 files and folders"),
    "too large": ("head -c 5000000 /dev/zero >x", r"x: a file of 5000000 bytes; at most 4194304"),
    "another manifest": ("echo '[bot]' >bot.toml", r"the key name is missing"),
    "another bot": (
        "printf '#!' >bot; chmod +x bot; sed -i s/made/other/ bot.toml",
        r"the build changed bot.toml; it has to stay as it was submitted",
    ),
}


@pytest.mark.parametrize(("script", "expected"), REFUSED.values(), ids=REFUSED.keys())
def test_a_result_that_is_no_package_is_refused(
    script: str, expected: str, builder: Builder, versions: FileVersions, tmp_path: Path
) -> None:
    result = shell(builder, versions, tmp_path, script)
    assert (result.end, result.ok) == (BuildEnd.REFUSED, False)
    assert expected.replace("\\", "") in result.detail.replace("\\", "")


def test_a_build_that_sends_a_result_itself_gains_nothing(
    builder: Builder, versions: FileVersions, tmp_path: Path
) -> None:
    script = """\
        import socket
        connection = socket.socket(socket.AF_UNIX)
        connection.connect("/run/arbiter.sock")
        connection.sendall(b"garbage")
    """
    result = python(builder, versions, tmp_path, script)
    assert result.end in (BuildEnd.REFUSED, BuildEnd.FAILED)


def test_a_runtime_that_this_machine_lacks(builder: Builder, versions: FileVersions, tmp_path: Path) -> None:
    source = put(versions, tmp_path, SHELL, {})
    with pytest.raises(RuntimeMissing, match="no-such-compiler was not found"):
        asyncio.run(builder.build(source, Runtime("x", build=("no-such-compiler",))))


def test_a_version_that_is_not_there(builder: Builder) -> None:
    with pytest.raises(VersionMissing):
        asyncio.run(builder.build("0" * 64, SHELL))


@pytest.mark.parametrize("makefile", [False, True], ids=["without a Makefile", "with one"])
def test_cpp(versions: FileVersions, tmp_path: Path, place: Path, makefile: bool) -> None:
    if shutil.which("g++") is None or shutil.which("make") is None:
        pytest.skip("no g++ or no make on this machine")
    settings = CageSettings(runtimes=Runtimes.from_environment({}))
    cpp = settings.runtimes["cpp"]
    files = {
        "main.cpp": '#include <cstdio>\nint rank();\nint main() { std::printf("%d", rank()); }\n',
        "rank.cpp": "int rank() { return 12; }\n",
    }
    if makefile:
        files["Makefile"] = "bot:\n\tg++ -O0 -o bot main.cpp rank.cpp\n"
    builder = Builder(versions, place / "staging", settings, BuildLimits(seconds=100.0))
    result = asyncio.run(builder.build(put(versions, tmp_path, cpp, files), cpp))
    assert result.end is BuildEnd.BUILT, result.log
    assert result.digest is not None
    assert verify_snapshot(versions.open(result.digest))


def test_without_a_cage_when_asked_for(versions: FileVersions, tmp_path: Path, place: Path) -> None:
    builder = Builder(versions, place / "staging", SETTINGS, PLENTY, unsafe=True)
    closed = [path for path in interpreter().resolve().parents if not path.stat().st_mode & 0o001]
    if os.geteuid() == 0 and closed:  # without a cage a build of root's is another user, who can't pass there
        with pytest.raises(CageError, match="a bot never runs as root"):
            shell(builder, versions, tmp_path, "true")
        return
    result = shell(builder, versions, tmp_path, "printf '#!' >bot; chmod +x bot")
    assert result.end is BuildEnd.BUILT, (result.detail, result.log)
