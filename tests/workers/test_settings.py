"""A worker's settings: what is missing or bad is named, and the token is shown to nobody."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from celery.app.defaults import NAMESPACES, flatten

import arbiter
from arbiter.errors import UsageError
from workers.settings import WorkerSettings, celery_settings

WHOLE = {
    "ARBITER_REDIS_URL": "redis+socket:///run/redis.sock",
    "ARBITER_WORKER_ADDRESS": "unix:/run/arbiter.sock",
    "ARBITER_WORKER_TOKEN": "secret-token",
    "ARBITER_RUN_DIR": "/run/arbiter",
}


def test_everything_that_can_be_set() -> None:
    settings = WorkerSettings.from_environment(
        {
            **WHOLE,
            "ARBITER_QUEUE": "spring",
            "ARBITER_CA": "/etc/arbiter/ca.pem",
            "ARBITER_PLAIN_TEXT": "1",
            "ARBITER_SPOOL_DIR": "/srv/spool",
            "ARBITER_CACHE_DIR": "/srv/bots",
            "ARBITER_CACHE_BYTES": "1000",
            "ARBITER_WORKER_CPUS": "3",
            "ARBITER_WORKER_RECYCLE": "7",
            "ARBITER_DRAIN_SECONDS": "2.5",
            "ARBITER_WORKER_RUNTIMES": "node, python-numpy",
            "ARBITER_HIDDEN": "/srv/data:/srv/more",
            "ARBITER_UNSAFE_PROCESSES": "1",
            "ARBITER_WORKER_NAME": "worker-7",
            "ARBITER_WORKER_PIN": "0,2-4,3",
        }
    )
    assert settings.redis_url == "redis+socket:///run/redis.sock"
    assert settings.queue == "spring"
    assert settings.authority == Path("/etc/arbiter/ca.pem")
    assert settings.plain_text
    assert (settings.spool_folder, settings.cache_folder) == (Path("/srv/spool"), Path("/srv/bots"))
    assert (settings.cache_bytes, settings.cpus, settings.recycle, settings.drain_seconds) == (1000, 3, 7, 2.5)
    assert settings.runtimes == ("node", "python-numpy")
    assert settings.address == "unix:/run/arbiter.sock"
    assert settings.token == "secret-token"
    assert settings.run_folder == Path("/run/arbiter")
    assert settings.hidden == (Path("/srv/data"), Path("/srv/more"))
    assert settings.unsafe_processes
    assert settings.name == "worker-7"
    assert settings.pinned == {0, 2, 3, 4}


def test_what_is_left_out_has_a_default() -> None:
    settings = WorkerSettings.from_environment(WHOLE)
    assert settings.hidden == ()
    assert settings.queue == "hearts"
    assert settings.authority is None
    assert not settings.plain_text
    assert (settings.spool_folder, settings.cache_folder) == (Path("/run/arbiter/spool"), Path("/run/arbiter/bots"))
    assert (settings.cache_bytes, settings.cpus) == (4 << 30, os.cpu_count())
    assert settings.runtimes is None
    assert not settings.unsafe_processes
    assert settings.name.endswith(f"-{os.getpid()}")
    assert settings.pinned == frozenset()


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


@pytest.mark.parametrize("name", ["ARBITER_UNSAFE_PROCESSES", "ARBITER_PLAIN_TEXT"])
@pytest.mark.parametrize("value", ["yes", "true", "2", ""])
def test_a_bad_switch_is_named(name: str, value: str) -> None:
    with pytest.raises(UsageError, match=rf"{name} is .*; write 1 or 0"):
        WorkerSettings.from_environment({**WHOLE, name: value})


@pytest.mark.parametrize("name", ["ARBITER_CACHE_BYTES", "ARBITER_WORKER_CPUS", "ARBITER_WORKER_RECYCLE"])
@pytest.mark.parametrize("value", ["0", "-1", "1.5", "many", "9" * 30])
def test_a_bad_number_is_named(name: str, value: str) -> None:
    with pytest.raises(UsageError, match=f"{name} is .*; write a whole number above 0"):
        WorkerSettings.from_environment({**WHOLE, name: value})


@pytest.mark.parametrize("value", ["-1", "nan", "inf", "soon"])
def test_a_bad_time_is_named(value: str) -> None:
    with pytest.raises(UsageError, match=r"ARBITER_DRAIN_SECONDS is .*; write seconds, 0 or more"):
        WorkerSettings.from_environment({**WHOLE, "ARBITER_DRAIN_SECONDS": value})


@pytest.mark.parametrize("value", ["nodde", "python"])
def test_a_runtime_that_is_not_special_can_not_be_offered(value: str) -> None:
    settings = WorkerSettings.from_environment({**WHOLE, "ARBITER_WORKER_RUNTIMES": value})
    with pytest.raises(
        UsageError, match=f"ARBITER_WORKER_RUNTIMES names '{value}'; special runtimes are: python-numpy"
    ):
        settings.queues()


def test_every_setting_of_celery_is_one_that_celery_knows() -> None:
    """Celery takes any key, and a typing error would do nothing."""
    known = {pair[0] for pair in flatten(NAMESPACES)}
    assert set(celery_settings(WorkerSettings.from_environment(WHOLE))) - known == set()


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


@pytest.mark.parametrize("text", ["all", "0-", "1,,2", "3-2", "-1", "0 1"])
def test_processors_are_numbers(text: str) -> None:
    with pytest.raises(UsageError, match=r"ARBITER_WORKER_PIN is .* such as"):
        WorkerSettings.from_environment({**WHOLE, "ARBITER_WORKER_PIN": text})


def test_a_worker_refuses_processors_that_it_may_not_use() -> None:
    process = subprocess.run(
        [sys.executable, "-m", "workers"],
        env={
            **WHOLE,
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(Path(arbiter.__file__).parent.parent),
            "ARBITER_WORKER_PIN": "0-99999",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 2
    assert process.stderr.startswith("error: ARBITER_WORKER_PIN names processor ")
