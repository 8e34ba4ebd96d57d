"""Draw a tournament's results for the README: ``demo_picture.py ID [--data-dir DIR]`` writes docs/images/demo.svg."""

from __future__ import annotations

import argparse
import io
import re
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI

from arbiter.api.tournament.v1 import tournament_pb2 as pb
from arbiter.cli.event import open_store
from arbiter.cli.options import data_folder
from arbiter.cli.standings_text import crosstable_table, standings_table
from arbiter.service.standings_messages import standings_message
from arbiter.tournament import report

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "images" / "demo.svg"


def main() -> None:
    """Write the picture."""
    parser = argparse.ArgumentParser(description="Draw a tournament's results for the README.")
    parser.add_argument("id", help="the tournament's id, or how it begins")
    parser.add_argument("--data-dir", type=Path, help="where the database is")
    options = parser.parse_args()
    with open_store(data_folder(options.data_dir)) as store:
        of_id = store.find_tournament(options.id).id
        found = standings_message(report(store, of_id), pb.Tournament(id=of_id), crosstable=True)
    console = Console(record=True, width=112, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(standings_table(found))
    console.print()
    console.print(crosstable_table(found))
    picture = console.export_svg(title="make demo", theme=MONOKAI)
    # The picture stands alone: it names fonts that may be installed and loads none from elsewhere.
    picture = re.sub(r"@font-face\s*\{.*?\}", "", picture, flags=re.DOTALL).replace("Fira Code", "DejaVu Sans Mono")
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    PICTURE.write_text(re.sub(r"[ \t]+\n", "\n", picture), "utf-8")
    print(PICTURE)


if __name__ == "__main__":
    main()
