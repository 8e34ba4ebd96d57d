"""A worker whose bots play in its own process: ``python -m benchmarks.quick_worker FILE`` writes to FILE what it did.

All else is a worker as it is: queue, lease, heartbeat, replay, spool, report.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Final

import workers.app
from arbiter.api.worker.v1 import worker_pb2 as pb
from arbiter.links import LocalLink
from arbiter.match import SittingRecord, StandInBot, plan_from_message, play_sitting
from workers.__main__ import main
from workers.work import Progress, Worker

_ends: Final[list[float]] = []
"""When each sitting was played, in seconds of the monotonic clock: its beginning and its end."""


class QuickWorker(Worker):
    """Plays without processes."""

    async def _play(self, plan_message: pb.SittingPlan, progress: Progress) -> SittingRecord:
        _ends.append(time.monotonic())
        plan = plan_from_message(plan_message)
        record = await play_sitting(plan, [LocalLink(StandInBot()) for _ in plan.bots], progress.hand_done)
        _ends.append(time.monotonic())
        return record


if __name__ == "__main__":
    setattr(workers.app, "Worker", QuickWorker)  # noqa: B010  what the application makes its one worker of
    try:
        main()
    finally:
        Path(sys.argv[1]).write_text(json.dumps({"ends": _ends, "cpu": time.process_time()}))
