"""The pages about replays and the protocol name what there is, and nothing else."""

from __future__ import annotations

import json
import re
from pathlib import Path

from arbiter.api.bot.v1 import bot_pb2
from arbiter.links import FaultCode, LocalLink
from arbiter.match import read_replay, verify_replay, write_replay
from tests.match.replays import lines_of
from tests.match.support import DEAL_SEED, Uniform, check, plan_of, play

DOCS = Path(__file__).parents[2] / "docs"


def keys(page: str, heading: str) -> list[str]:
    """The first column of the table below a heading."""
    text = (DOCS / page).read_text(encoding="utf-8")
    section = text.split(f"## {heading}\n", 1)[1].split("\n## ")[0]
    return re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)


def test_the_page_on_replays_names_every_key() -> None:
    kinds = ("hands", "choice", "offence", "kitty", "bad card", "lost")
    files = [[json.loads(line) for line in lines_of(kind).splitlines()] for kind in kinds]
    assert keys("replay-format.md", "The first line") == list(files[0][0])
    assert keys("replay-format.md", "The last line") == list(files[0][-1])
    used = {key for lines in files for hand in lines[1:-1] for key in hand}
    documented = keys("replay-format.md", "A hand")
    assert set(documented) == used
    for lines in files:
        for hand in lines[1:-1]:
            assert list(hand) == [key for key in documented if key in hand], "in the order of the page"


def test_the_example_of_a_replay_is_one() -> None:
    page = (DOCS / "replay-format.md").read_text(encoding="utf-8")
    header, *rest = page.split("```json\n")[1].split("```")[0].splitlines()
    data = check(play(plan_of(boards=1), [LocalLink(Uniform()) for _ in range(4)])).decode().splitlines()
    assert '"rules":{"players":4,"decks":1,…}' in header
    replay = read_replay("".join(line + "\n" for line in [data[0], *rest]).encode())
    verify_replay(replay, DEAL_SEED)
    assert write_replay(replay).decode().splitlines() == data


def test_the_page_on_the_protocol_names_every_field_and_fault() -> None:
    fields = [field.name for field in bot_pb2.SitResponse.DESCRIPTOR.fields]
    assert keys("protocol.md", "What the arbiter sends") == [
        field for field in fields if field not in ("faults", "time_left")
    ]
    assert set(keys("protocol.md", "Faults")) == set(FaultCode)
