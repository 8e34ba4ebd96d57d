"""The filter of system calls for bots: a program for the kernel's classic BPF, assembled here for each architecture.

The kernel runs it before every system call of the bot and of all that it starts, and nothing can take it off again
(`seccomp(2) <https://man7.org/linux/man-pages/man2/seccomp.2.html>`_). It refuses what no player of cards needs and
what has been a way out of other cages: the starting point is Docker's default profile for a container without
capabilities. What a program might ask for and do without is answered as by a kernel that has no such call, so that
libraries fall back; entering the kernel by the way of another architecture, whose numbers mean other calls, kills.

Also refused are memory objects that no resource limit bounds (``memfd_create``, System V IPC): where there is no
control group for memory, a bot could take all of the machine's by them.
"""

from __future__ import annotations

import errno
import platform
import re
import struct
from dataclasses import dataclass
from typing import Final

from arbiter.cage.errors import CageError

KILL: Final = 0x80000000  # SECCOMP_RET_KILL_PROCESS
ALLOW: Final = 0x7FFF0000  # SECCOMP_RET_ALLOW
ERRNO: Final = 0x00050000  # SECCOMP_RET_ERRNO, with the error's number in the low half

NEWEST_KNOWN: Final = 456
"""``futex_requeue``. Nobody has thought about calls that are newer than this list: the filter says there are none."""

# Classic BPF: load the word at k; skip k; skip when equal to k, when at least k, when a bit of k is set; return k.
_LOAD, _SKIP, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x05, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data; both machines are little-endian

_FILTERS: Final = re.compile(r"^Seccomp_filters:\t(\d+)$", re.MULTILINE)
_X32_BIT = 0x40000000
_AF_UNIX = 1
_NEW_NAMESPACES = 0x7E020000  # CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
_FEIGNED_INPUT = (0x5412, 0x541C)  # TIOCSTI and TIOCLINUX: put characters into a terminal that others read

# Numbers on x86_64 and aarch64; None where the machine has no such call.
_ABSENT: Final[dict[str, tuple[int | None, int | None]]] = {
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "clone3": (435, 435),  # its flags lie in memory, where a filter can't look; the C library goes back to clone
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "semget": (64, 190),
    "msgget": (68, 186),
}
_FORBIDDEN: Final[dict[str, tuple[int | None, int | None]]] = {
    # other processes
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    "move_pages": (279, 239),
    "migrate_pages": (256, 238),
    # keys of the kernel, which no namespace parts
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    # large parts of the kernel that have been broken into often
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "modify_ldt": (154, None),
    "personality": (135, 92),
    "lookup_dcookie": (212, 18),
    # mounts and namespaces
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "unshare": (272, 97),
    "setns": (308, 268),
    # files past their paths, and the whole machine's
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "fanotify_init": (300, 262),
    "fanotify_mark": (301, 263),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    # the machine itself
    "acct": (163, 89),
    "syslog": (103, 116),
    "reboot": (169, 142),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "iopl": (172, None),
    "ioperm": (173, None),
    "uselib": (134, None),
    "ustat": (136, None),
    "sysfs": (139, None),
    "_sysctl": (156, None),
    "vhangup": (153, 58),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "adjtimex": (159, 171),
    "clock_adjtime": (305, 266),
}
_LOOKED_INTO: Final[dict[str, tuple[int, int]]] = {
    "clone": (56, 220),
    "ioctl": (16, 29),
    "socket": (41, 198),
    "socketpair": (53, 199),
}


@dataclass(frozen=True, slots=True)
class Architecture:
    """A machine: its place in the tables here, what the kernel calls it, and whether it has the x32 entry."""

    name: str
    column: int
    audit: int
    x32: bool

    def number(self, call: str) -> int | None:
        """A call's number on this machine; None where it has no such call."""
        return {**_ABSENT, **_FORBIDDEN, **_LOOKED_INTO}[call][self.column]


X86_64: Final = Architecture("x86_64", 0, 0xC000003E, x32=True)
AARCH64: Final = Architecture("aarch64", 1, 0xC00000B7, x32=False)
ABSENT: Final = tuple(_ABSENT)
"""Calls that are answered with ENOSYS, as if the kernel did not have them."""
FORBIDDEN: Final = tuple(_FORBIDDEN)
"""Calls that are answered with EPERM."""

Instruction = tuple[int, int, int, int]
"""Operation, how many instructions to skip when true and when false, operand: ``struct sock_filter``."""


def this_architecture(machine: str | None = None) -> Architecture:
    """The machine's architecture; ``machine`` as in `platform.machine`.

    Raises:
        CageError: there is no filter for it.
    """
    machine = machine or platform.machine()
    for known in (X86_64, AARCH64):
        if known.name == machine:
            return known
    raise CageError(f"there is no filter of system calls for {machine} machines; run bots on x86_64 or aarch64")


def filter_program(architecture: Architecture) -> bytes:
    """The filter as bubblewrap's ``--seccomp`` and the kernel take it: an array of ``struct sock_filter``."""
    return b"".join(struct.pack("<HBBI", *instruction) for instruction in _assemble(architecture))


def adds_filter(status: str, inherited: str) -> bool:
    """Whether a process has applied a filter beside those of the one that started it.

    Args:
        status: its ``/proc/PID/status``.
        inherited: that of the one that started it.

    Linux counts filters since 5.9. Before, any filter is taken for one that was added: in a container, which has one of
    its own, that is said too early.
    """
    own, handed_down = _FILTERS.search(status), _FILTERS.search(inherited)
    if own and handed_down:
        return int(own[1]) > int(handed_down[1])
    return "\nSeccomp:\t2\n" in status


def _assemble(machine: Architecture) -> list[Instruction]:
    program = [_load(_ARCHITECTURE), (_EQUAL, 1, 0, machine.audit), _answer(KILL), _load(_NUMBER)]
    if machine.x32:
        program += [(_AT_LEAST, 0, 1, _X32_BIT), _answer(KILL)]
    program += [(_AT_LEAST, 0, 1, NEWEST_KNOWN + 1), _refuse(errno.ENOSYS)]
    for calls, error in ((_ABSENT, errno.ENOSYS), (_FORBIDDEN, errno.EPERM)):
        program += _refuse_all([number for call in calls if (number := machine.number(call)) is not None], error)
    # A filter sees 64-bit arguments in two halves. The kernel reads the low half of these, and so does this.
    families = [_load(_ARGUMENTS), (_EQUAL, 1, 0, _AF_UNIX), _refuse(errno.EAFNOSUPPORT), _answer(ALLOW)]
    flags = [_load(_ARGUMENTS), (_ANY_BIT, 0, 1, _NEW_NAMESPACES), _refuse(errno.EPERM), _answer(ALLOW)]
    requests = [_load(_ARGUMENTS + 8), *_refuse_all(list(_FEIGNED_INPUT), errno.EPERM), _answer(ALLOW)]
    for call, rule in (("socket", families), ("socketpair", families), ("clone", flags), ("ioctl", requests)):
        number = machine.number(call)
        assert number is not None, f"every machine has {call}"
        program += [(_EQUAL, 0, len(rule), number), *rule]
    return [*program, _answer(ALLOW)]


def _refuse_all(values: list[int], error: int) -> list[Instruction]:
    """Refuse when what was loaded is one of the values, else go on after this."""
    tests = [(_EQUAL, len(values) - place, 0, value) for place, value in enumerate(values)]
    return [*tests, (_SKIP, 0, 0, 1), _refuse(error)]


def _load(offset: int) -> Instruction:
    return (_LOAD, 0, 0, offset)


def _answer(value: int) -> Instruction:
    return (_RETURN, 0, 0, value)


def _refuse(error: int) -> Instruction:
    return _answer(ERRNO | error)
