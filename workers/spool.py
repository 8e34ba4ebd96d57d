"""Results that the arbiter has not acknowledged yet, kept on the worker's disk."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from google.protobuf.message import DecodeError

from arbiter.api.worker.v1 import worker_pb2 as pb

log = logging.getLogger(__name__)


class Spool:
    """Reports as files below ``folder``, which several workers of one machine may share."""

    def __init__(self, folder: Path) -> None:
        self._folder: Final = folder
        folder.mkdir(parents=True, exist_ok=True)

    def put(self, sitting: str, attempt: int, report: pb.ReportSittingRequest) -> Path:
        """Keep a report; it is whole on the disk, or not there."""
        path = self._folder / f"{sitting.replace('/', '_')}.{attempt}.report"
        partial = path.with_suffix(f".{os.getpid()}.partial")
        with partial.open("wb") as file:
            file.write(report.SerializeToString())
            file.flush()
            os.fsync(file.fileno())
        partial.rename(path)
        return path

    def waiting(self) -> Iterator[tuple[Path, pb.ReportSittingRequest]]:
        """The reports that are kept, oldest first. One that another worker sends at the same time may come too: reports
        may be repeated."""
        found: list[tuple[int, Path]] = []
        for path in self._folder.glob("*.report"):
            with suppress(FileNotFoundError):  # another worker has just sent it
                found.append((path.stat().st_mtime_ns, path))
        for _, path in sorted(found):
            try:
                report = pb.ReportSittingRequest.FromString(path.read_bytes())
            except FileNotFoundError:
                continue
            except DecodeError:
                log.error("%s: damaged on the disk; it is put aside", path)
                with suppress(FileNotFoundError):  # another worker was quicker
                    path.rename(path.with_suffix(".damaged"))
                continue
            yield path, report

    def remove(self, path: Path) -> None:
        """Forget a report that was acknowledged."""
        path.unlink(missing_ok=True)
