"""What the host sets: defaults, variables, and what is said of a bad one."""

from __future__ import annotations

from pathlib import Path

import pytest

from arbiter.cage import CageSettings, Level, Limits
from arbiter.errors import UsageError


def test_defaults() -> None:
    assert CageSettings.from_environment({}) == CageSettings(Limits(), Level.BASIC, None)
    assert Limits() == Limits(memory=1 << 30, processes=64, open_files=512, tmp=64 << 20, shm=16 << 20, cpus=1.0)


def test_everything_that_can_be_set() -> None:
    settings = CageSettings.from_environment(
        {
            "ARBITER_BOT_MEMORY": "512M",
            "ARBITER_BOT_PROCESSES": "32",
            "ARBITER_BOT_OPEN_FILES": "100",
            "ARBITER_BOT_TMP": "4096K",
            "ARBITER_BOT_SHM": "1048576",
            "ARBITER_BOT_CPUS": "0.5",
            "ARBITER_CAGE_LEVEL": "full",
            "ARBITER_CGROUP": "/sys/fs/cgroup/bots",
        }
    )
    assert settings.limits == Limits(512 << 20, 32, 100, 4 << 20, 1 << 20, 0.5)
    assert settings.level is Level.FULL
    assert settings.group == Path("/sys/fs/cgroup/bots")


@pytest.mark.parametrize(
    ("name", "value", "right"),
    [
        ("ARBITER_BOT_MEMORY", "1 GB", "bytes such as 512M or 1G, at least 64M"),
        ("ARBITER_BOT_MEMORY", "63M", "at least 64M"),
        ("ARBITER_BOT_MEMORY", "-1G", "bytes"),
        ("ARBITER_BOT_PROCESSES", "8", "a whole number of at least 16"),
        ("ARBITER_BOT_PROCESSES", "many", "a whole number"),
        ("ARBITER_BOT_OPEN_FILES", "0", "at least 32"),
        ("ARBITER_BOT_TMP", "0", "at least 1M"),
        ("ARBITER_BOT_SHM", "1T", "bytes"),
        ("ARBITER_BOT_CPUS", "0", "at least 0.05"),
        ("ARBITER_BOT_CPUS", "all", "a number of processors"),
        ("ARBITER_CAGE_LEVEL", "high", "basic or full"),
    ],
)
def test_a_bad_value_is_named(name: str, value: str, right: str) -> None:
    with pytest.raises(UsageError, match=f"{name} is {value!r}; write ") as caught:
        CageSettings.from_environment({name: value})
    assert right in str(caught.value)


def test_address_space_is_wide_only_where_a_group_bounds_the_memory() -> None:
    assert Limits(memory=100).address_space(grouped=False) == 200
    assert Limits(memory=100).address_space(grouped=True) == 400
