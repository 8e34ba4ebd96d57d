"""Results that the arbiter has not acknowledged yet, kept on the worker's disk."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from arbiter.api.worker.v1 import worker_pb2 as pb


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
        paths = sorted(self._folder.glob("*.report"), key=lambda path: path.stat().st_mtime_ns)
        for path in paths:
            try:
                data = path.read_bytes()
            except FileNotFoundError:
                continue
            yield path, pb.ReportSittingRequest.FromString(data)

    def remove(self, path: Path) -> None:
        """Forget a report that was acknowledged."""
        path.unlink(missing_ok=True)
