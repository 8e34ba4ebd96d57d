"""What a bot finds in a bubblewrap cage, for a service of root and for one of an ordinary user."""

from __future__ import annotations

import json
import socket
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from arbiter.cage import Limits
from tests.cage import reporter
from tests.cage.conftest import Service
from tests.cage.support import echo_socket, make_bot

PROJECT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Report:
    found: dict[str, Any]
    prefix: str


@pytest.fixture(scope="module", params=["own", "ordinary"])
def service(request: pytest.FixtureRequest) -> Service:
    """The service of the user who runs the tests (in CI: root), and that of an ordinary user."""
    chosen: Service = request.getfixturevalue(f"{request.param}_service")
    return chosen


@pytest.fixture(scope="module")
def report(service: Service, place: Path, arbiter_socket: Path, tmp_path_factory: pytest.TempPathFactory) -> Report:
    folder = tmp_path_factory.mktemp("reporter")
    folder = place / folder.name  # a name of its own for each service
    make_bot(folder, Path(reporter.__file__).read_text())
    with socket.create_server(("127.0.0.1", 0)) as listener, echo_socket(place / f"{folder.name}.sock") as other:
        asked = {
            "port": listener.getsockname()[1],
            "abstract": "nobody-listens-here",
            "paths": [
                *("/etc/shadow", "/etc/passwd", "/etc/hostname", "/etc/resolv.conf", "/sys"),
                # Folders that lead to the interpreter are seen, empty but for that.
                *(path for path in ("/home", "/var", "/mnt") if not Path(sys.prefix).is_relative_to(path)),
                # Of the project's folder an environment for Python may lie in it and be seen, and nothing else.
                *(str(PROJECT / name) for name in ("pyproject.toml", ".git", "arbiter", "tests", "README.md")),
                *(str(Path.home() / ".bashrc"), str(other)),
                *(str(arbiter_socket), str(folder), "/opt/sdk/arbiter/cage", "/run/dbus", "/proc/kcore/x"),
            ],
        }
        (folder / "asked.json").write_text(json.dumps(asked))
        (folder / "asked.json").chmod(0o644)
        _, end = service.run("caged", "finish", folder, arbiter_socket)
    assert end["exit"] == "exit status 0", end["log"]
    text = end["log"]
    assert isinstance(text, str)
    found = json.loads(text)
    return Report(found, str(Path(found["environment"]["PATH"].split(":")[0]).parent))


def test_environment_is_the_contract_and_nothing_else(report: Report) -> None:
    environment = dict(report.found["environment"])
    first, *others = environment.pop("PATH").split(":")
    assert others == ["/usr/local/bin", "/usr/bin", "/bin"]
    assert Path(first).name == "bin"
    assert environment == {
        "ARBITER_ADDRESS": "unix:/run/arbiter.sock",
        "ARBITER_TOKEN": "secret-of-the-seat",
        "HOME": "/tmp",
        "LANG": "C.UTF-8",
        "MALLOC_ARENA_MAX": "2",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": "/opt/sdk",
        "PYTHONUNBUFFERED": "1",
        "TMPDIR": "/tmp",
    }


def test_its_folder_is_the_working_directory(report: Report) -> None:
    assert report.found["folder"] == "/bot"
    assert report.found["files"] == ["asked.json", "bot.py", "bot.toml"]


def test_only_tmp_and_shared_memory_can_be_written(report: Report) -> None:
    writable = {place for place, result in report.found["write"].items() if result == "done"}
    assert writable == {"/tmp", "/dev/shm"}
    assert report.found["change"] in {"EROFS", "EACCES"}


def test_what_can_be_written_is_bounded(report: Report) -> None:
    # A file in /tmp is bounded like /tmp itself, and which of the two is met first does not matter.
    assert report.found["fill"] in ({"/tmp": errno, "/dev/shm": "ENOSPC"} for errno in ("ENOSPC", "EFBIG"))
    assert report.found["fits"] == "done"


def test_no_network(report: Report) -> None:
    assert report.found["tcp"] == "EAFNOSUPPORT"  # though the test listened at that port
    assert report.found["interfaces"] in (["lo"], [])
    assert report.found["abstract"] == "ECONNREFUSED"


def test_reaches_its_own_socket_and_sees_no_other(report: Report) -> None:
    assert report.found["echo"] == "hello"
    assert report.found["run"] == ["arbiter.sock"]


def test_sees_nothing_of_the_host_but_programs(report: Report) -> None:
    assert report.found["visible"] == []
    allowed = {
        "bin",
        "bot",
        "dev",
        "etc",
        "lib",
        "lib32",
        "lib64",
        "libx32",
        "opt",
        "proc",
        "run",
        "sbin",
        "tmp",
        "usr",
    }
    assert set(report.found["top"]) - allowed <= {report.prefix.split("/")[1], "root"}  # the interpreter's place
    configuration = {name for name in report.found["etc"] if not name.endswith("-openjdk")}
    assert configuration <= {"alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime"}
    assert set(report.found["sdk"]) <= {"__init__.py", "errors.py", "sdk", "engine", "wire", "api"}


def test_sees_no_process_but_its_own(report: Report) -> None:
    assert report.found["processes"] == [1, report.found["pid"]]
    assert report.found["hostname"] == "cage"


def test_has_no_privilege_left(report: Report) -> None:
    status = report.found["status"]
    assert {int(status[key], 16) for key in ("CapPrm", "CapEff", "CapAmb")} == {0}
    assert status["NoNewPrivs"] == "1"
    assert report.found["uid"] != 0
    assert report.found["proc_sys"] in {"EACCES", "EROFS", "EPERM"}


def test_can_make_no_user_namespace(report: Report) -> None:
    assert report.found["user_namespace"] == "EPERM"


def test_system_calls_are_filtered(report: Report) -> None:
    assert report.found["status"]["Seccomp"] == "2"


def test_limits_hold_inside(report: Report) -> None:
    limits = Limits()
    space = report.found["limits"].pop("AS")
    assert report.found["limits"] == {"NPROC": 64, "NOFILE": 512, "CORE": 0, "FSIZE": 64 << 20}
    assert space in {limits.address_space(grouped=True), limits.address_space(grouped=False)}


def test_names_of_control_groups_are_hidden(report: Report) -> None:
    assert not [line for line in report.found["groups"] if "hearts" in line]


def test_stdin_is_empty_and_no_descriptor_came_along(report: Report) -> None:
    assert report.found["stdin"] == ""
    assert report.found["descriptors"] == [0, 1, 2]
