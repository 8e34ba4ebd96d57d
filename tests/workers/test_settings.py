"""A worker's settings: what is missing or bad is named, and the token is shown to nobody."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import arbiter
from arbiter.errors import UsageError
from workers.settings import WorkerSettings

WHOLE = {
    "ARBITER_REDIS_URL": "redis+socket:///run/redis.sock",
    "ARBITER_QUEUE": "arbiter.cup-1a2b",
    "ARBITER_WORKER_ADDRESS": "unix:/run/arbiter.sock",
    "ARBITER_WORKER_TOKEN": "secret-token",
    "ARBITER_RUN_DIR": "/run/arbiter",
}


def test_everything_that_can_be_set() -> None:
    settings = WorkerSettings.from_environment(
        {
            **WHOLE,
            "ARBITER_HIDDEN": "/srv/data:/srv/more",
            "ARBITER_UNSAFE_PROCESSES": "1",
            "ARBITER_WORKER_NAME": "worker-7",
        }
    )
    assert settings.redis_url == "redis+socket:///run/redis.sock"
    assert settings.queue == "arbiter.cup-1a2b"
    assert settings.address == "unix:/run/arbiter.sock"
    assert settings.token == "secret-token"
    assert settings.run_folder == Path("/run/arbiter")
    assert settings.hidden == (Path("/srv/data"), Path("/srv/more"))
    assert settings.unsafe_processes
    assert settings.name == "worker-7"


def test_what_is_left_out_has_a_default() -> None:
    settings = WorkerSettings.from_environment(WHOLE)
    assert settings.hidden == ()
    assert not settings.unsafe_processes
    assert settings.name.endswith(f"-{os.getpid()}")


def test_the_token_is_not_shown() -> None:
    assert "secret-token" not in repr(WorkerSettings.from_environment(WHOLE))


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("value", [None, ""])
def test_a_missing_variable_is_named(name: str, value: str | None) -> None:
    environment = {key: known for key, known in WHOLE.items() if key != name}
    if value is not None:
        environment[name] = value
    with pytest.raises(UsageError, match=f"{name} is not set"):
        WorkerSettings.from_environment(environment)


@pytest.mark.parametrize("value", ["yes", "true", "2", ""])
def test_a_bad_switch_is_named(value: str) -> None:
    with pytest.raises(UsageError, match=r"ARBITER_UNSAFE_PROCESSES is .*; write 1 or 0"):
        WorkerSettings.from_environment({**WHOLE, "ARBITER_UNSAFE_PROCESSES": value})


def test_a_worker_without_settings_ends_with_one_line() -> None:
    outcome = subprocess.run(
        [sys.executable, "-m", "workers"],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(arbiter.__file__).parent.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (outcome.returncode, outcome.stdout) == (2, "")
    assert outcome.stderr.startswith("error: ARBITER_REDIS_URL is not set")
    assert outcome.stderr.count("\n") == 1
