"""The filter of system calls, run here as the kernel runs it, for both architectures."""

from __future__ import annotations

import errno
import re
import struct
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arbiter.cage import CageError
from arbiter.cage.seccomp import (
    AARCH64,
    ABSENT,
    ALLOW,
    ERRNO,
    FORBIDDEN,
    KILL,
    NEWEST_KNOWN,
    X86_64,
    Architecture,
    adds_filter,
    filter_program,
    this_architecture,
)

MACHINES = pytest.mark.parametrize("machine", [X86_64, AARCH64], ids=lambda machine: machine.name)
HEADERS = {X86_64: "/usr/include/x86_64-linux-gnu/asm/unistd_64.h", AARCH64: "/usr/include/asm-generic/unistd.h"}
AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, AF_PACKET, AF_ALG, AF_VSOCK = 1, 2, 10, 16, 17, 38, 40
TIOCSTI, TIOCLINUX, TCGETS = 0x5412, 0x541C, 0x5401
CLONE_NEWUSER, THREAD_FLAGS, FORK_FLAGS = 0x10000000, 0x003D0F00, 0x01200011
REFUSED, NO_SUCH_CALL, NO_SUCH_FAMILY = ERRNO | errno.EPERM, ERRNO | errno.ENOSYS, ERRNO | errno.EAFNOSUPPORT


@cache
def program_of(machine: Architecture) -> list[tuple[int, int, int, int]]:
    return list(struct.iter_unpack("<HBBI", filter_program(machine)))


def run(machine: Architecture, number: int, *arguments: int, audit: int | None = None) -> int:
    """What the filter answers: an interpreter of the instructions of classic BPF that it uses."""
    filled = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("<IIQ6Q", number, machine.audit if audit is None else audit, 0, *filled)
    program = program_of(machine)
    loaded, place = 0, 0
    while True:
        operation, if_true, if_false, operand = program[place]
        place += 1
        match operation:
            case 0x20:
                (loaded,) = struct.unpack_from("<I", data, operand)
            case 0x05:
                place += operand
            case 0x15:
                place += if_true if loaded == operand else if_false
            case 0x35:
                place += if_true if loaded >= operand else if_false
            case 0x45:
                place += if_true if loaded & operand else if_false
            case 0x06:
                return int(operand)
            case _:
                raise AssertionError(f"unknown operation {operation:#x} at {place - 1}")


def number(machine: Architecture, call: str) -> int:
    found = machine.number(call)
    assert found is not None
    return found


@MACHINES
def test_numbers_are_the_kernels(machine: Architecture) -> None:
    header = Path(HEADERS[machine])
    if not header.is_file():
        pytest.skip(f"no kernel headers here ({header}, of Debian's linux-libc-dev)")
    defined = dict(re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", header.read_text()))
    for call in (*ABSENT, *FORBIDDEN, "socket", "socketpair", "clone", "ioctl"):
        assert machine.number(call) == (int(defined[call]) if call in defined else None), call


@MACHINES
@settings(max_examples=20)
@given(arguments=st.lists(st.integers(0, 2**64 - 1), max_size=6))
def test_what_is_refused_is_refused_with_all_arguments(machine: Architecture, arguments: list[int]) -> None:
    for calls, answer in ((ABSENT, NO_SUCH_CALL), (FORBIDDEN, REFUSED)):
        for call in calls:
            known = machine.number(call)
            if known is not None:
                assert run(machine, known, *arguments) == answer, call


@MACHINES
@given(call=st.integers(0, NEWEST_KNOWN), arguments=st.lists(st.integers(0, 2**64 - 1), min_size=6, max_size=6))
def test_every_other_call_is_allowed(machine: Architecture, call: int, arguments: list[int]) -> None:
    special = {machine.number(name) for name in (*ABSENT, *FORBIDDEN, "socket", "socketpair", "clone", "ioctl")}
    if call not in special:
        assert run(machine, call, *arguments) == ALLOW


@MACHINES
def test_calls_newer_than_the_list_are_not_there(machine: Architecture) -> None:
    assert run(machine, NEWEST_KNOWN) == ALLOW
    for call in (NEWEST_KNOWN + 1, 500, 0x3FFFFFFF):
        assert run(machine, call) == NO_SUCH_CALL


@MACHINES
@pytest.mark.parametrize("audit", [0x40000003, 0x40000028, 0xC00000B7 ^ 0x80, 0], ids=["i386", "arm", "other", "none"])
def test_the_way_of_another_architecture_kills(machine: Architecture, audit: int) -> None:
    assert run(machine, number(machine, "socket"), AF_UNIX, audit=audit) == KILL


def test_x32_kills_on_x86_64() -> None:
    for call in (0, number(X86_64, "ptrace"), number(X86_64, "socket")):
        assert run(X86_64, 0x40000000 | call, AF_UNIX) == KILL
    assert run(X86_64, 0xFFFFFFFF) == KILL


@MACHINES
@pytest.mark.parametrize("call", ["socket", "socketpair"])
def test_unix_sockets_alone(machine: Architecture, call: str) -> None:
    assert run(machine, number(machine, call), AF_UNIX, 1) == ALLOW
    for family in (AF_INET, AF_INET6, AF_NETLINK, AF_PACKET, AF_ALG, AF_VSOCK, 0, 2**32 - 1):
        assert run(machine, number(machine, call), family) == NO_SUCH_FAMILY
    # The kernel takes a family as 32 bits; what stands above must not hide it.
    assert run(machine, number(machine, call), (1 << 32) | AF_INET) == NO_SUCH_FAMILY


@MACHINES
def test_processes_and_threads_but_no_namespaces(machine: Architecture) -> None:
    clone = number(machine, "clone")
    assert run(machine, clone, THREAD_FLAGS) == run(machine, clone, FORK_FLAGS) == ALLOW
    for bit in (0x00020000, 0x02000000, 0x04000000, 0x08000000, CLONE_NEWUSER, 0x20000000, 0x40000000):
        assert run(machine, clone, FORK_FLAGS | bit) == REFUSED


@MACHINES
@given(high=st.integers(0, 2**32 - 1))
def test_no_feigned_input_whatever_stands_above(machine: Architecture, high: int) -> None:
    """A filter that compared all 64 bits could be got past (https://bugs.launchpad.net/snapd/+bug/1812973)."""
    for request in (TIOCSTI, TIOCLINUX):
        assert run(machine, number(machine, "ioctl"), 0, (high << 32) | request) == REFUSED
    assert run(machine, number(machine, "ioctl"), TIOCSTI, (high << 32) | TCGETS) == ALLOW


def test_machines() -> None:
    assert this_architecture("x86_64") is X86_64
    assert this_architecture("aarch64") is AARCH64
    with pytest.raises(CageError, match="no filter of system calls for riscv64"):
        this_architecture("riscv64")


def status_with(mode: int, filters: int | None) -> str:
    counted = "" if filters is None else f"Seccomp_filters:\t{filters}\n"
    return f"Name:\tbwrap\nNoNewPrivs:\t1\nSeccomp:\t{mode}\n{counted}Speculation_Store_Bypass:\tnot vulnerable\n"


@pytest.mark.parametrize(
    ("status", "inherited", "added"),
    [
        (status_with(0, 0), status_with(0, 0), False),
        (status_with(2, 1), status_with(0, 0), True),
        pytest.param(status_with(2, 1), status_with(2, 1), False, id="in-a-container"),
        pytest.param(status_with(2, 2), status_with(2, 1), True, id="in-a-container-with-its-own"),
        pytest.param(status_with(2, 10), status_with(2, 9), True, id="as-numbers"),
        pytest.param(status_with(0, None), status_with(0, None), False, id="old-kernel"),
        pytest.param(status_with(2, None), status_with(0, None), True, id="old-kernel-with-its-own"),
    ],
)
def test_a_filter_of_its_own_is_told_from_one_that_was_handed_down(status: str, inherited: str, added: bool) -> None:
    assert adds_filter(status, inherited) is added
