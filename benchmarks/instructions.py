"""What a hand costs in instructions of Python's own machine: ``python -m benchmarks.instructions``.

A sitting of four bots in this process, through the contract's messages. The count is the same on every machine and
however busy it is, but for Python's version; so it can be held against a bound where times can't. It does not see what
happens inside calls of C code, such as Protobuf's.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import platform
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final

from arbiter.links import LocalLink
from arbiter.match import StandInBot, play_sitting
from benchmarks.measures import bench_plan

ROOT: Final = Path(__file__).resolve().parent.parent
PARTS: Final = {
    "engine": "arbiter/engine/",
    "deals": "arbiter/deals/",
    "match": "arbiter/match/",
    "sdk": "arbiter/sdk/",
}
"""By part of a hand's cost: where its code lies."""


def count(hands: int, open_tables: int) -> dict[str, float]:
    """By part, and in ``all``: instructions a hand."""
    # A sitting before it fills tables and caches.
    _play(open_tables, open_tables)
    counted = _counted(lambda: _play(hands, open_tables))
    found = dict.fromkeys(PARTS, 0)
    for name, instructions in counted.items():
        for part, folder in PARTS.items():
            if name.startswith(str(ROOT / folder)):
                found[part] += instructions
    return {part: instructions / hands for part, instructions in {**found, "all": counted.total()}.items()}


def _counted(call: Callable[[], None]) -> Counter[str]:
    """By source file: instructions that a call takes."""
    counted: Counter[str] = Counter()
    if sys.version_info >= (3, 12):
        monitoring = sys.monitoring

        def instruction(code: CodeType, offset: int) -> None:
            counted[code.co_filename] += 1

        monitoring.use_tool_id(monitoring.PROFILER_ID, __name__)
        monitoring.register_callback(monitoring.PROFILER_ID, monitoring.events.INSTRUCTION, instruction)
        monitoring.set_events(monitoring.PROFILER_ID, monitoring.events.INSTRUCTION)
        try:
            call()
        finally:
            monitoring.set_events(monitoring.PROFILER_ID, 0)
            monitoring.free_tool_id(monitoring.PROFILER_ID)
        return counted

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        if event == "opcode":
            counted[frame.f_code.co_filename] += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return counted


def _play(hands: int, open_tables: int) -> None:
    plan = bench_plan(hands, open_tables)
    asyncio.run(play_sitting(plan, [LocalLink(StandInBot()) for _ in plan.bots]))


def main() -> int:
    """Count and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.instructions", description="Count a hand's cost.")
    parser.add_argument("--hands", type=int, default=64, help="hands of the sitting (default 64)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    found = count(options.hands, options.hands)
    if options.json:
        print(json.dumps({"python": platform.python_version(), "instructions_a_hand": found}, indent=2))
        return 0
    print(f"instructions of Python {platform.python_version()} for a hand, {options.hands} tables open")
    for part, instructions in found.items():
        print(f"{part:>8} {instructions:8,.0f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
