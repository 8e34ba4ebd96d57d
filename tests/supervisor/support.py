"""What the supervisor's tests share.

A test learns of the end of a process that is not its child by a FIFO: whoever reads it to its end has waited until no
process holds it open for writing any more.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import arbiter

REPOSITORY = Path(arbiter.__file__).parent.parent
OWNER = Path(__file__).with_name("owner.py")


def shell(script: str, *arguments: str | Path) -> list[str]:
    """A command that runs a script with the arguments $1, $2, ..."""
    return ["sh", "-c", script, "sh", *map(str, arguments)]


def holding(fifo: Path) -> list[str]:
    """A command that opens the FIFO, says its process id into it and lives on."""
    return shell('exec 3>"$1"; echo $$ >&3; exec sleep 1000', fifo)


def make_fifo(folder: Path) -> Path:
    fifo = folder / "fifo"
    os.mkfifo(fifo)
    return fifo


@contextmanager
def owner(what: str, path: Path) -> Iterator[subprocess.Popen[str]]:
    """`owner.py` as a process, killed in the end if the test has not."""
    with subprocess.Popen(
        [sys.executable, str(OWNER), what, str(path)],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()
