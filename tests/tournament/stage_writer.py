"""A process that writes the next stage of a tournament and is killed on the way: run with
``python -m tests.tournament.stage_writer PATH TOURNAMENT AT``, AT being ``sittings`` or ``commit``.

It ends with status 9 just before it plans the sittings, with the matches written, or just before it commits.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from sqlalchemy import Engine, event

from arbiter.store import Store
from arbiter.tournament.stages import write_next_stage

if __name__ == "__main__":
    path, tournament, at = sys.argv[1:]
    written = False

    @event.listens_for(Engine, "before_cursor_execute")
    def statement(_connection: Any, _cursor: Any, text: str, *_rest: Any) -> None:
        global written
        table = text.split()[2].strip('"') if text.startswith("INSERT") else ""
        written |= table == "match"
        if at == "sittings" and table == "sitting":
            os._exit(9)

    @event.listens_for(Engine, "commit")
    def commit(_connection: Any) -> None:
        if written:
            os._exit(9)

    with Store.open(path) as store:
        write_next_stage(store, tournament)
