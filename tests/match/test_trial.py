"""Trying a bot out: good bots pass in every game, bad ones are named with the reason, claims are compared."""

from __future__ import annotations

import asyncio
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from arbiter.cage import RuntimeMissing, Runtimes, choose_cage, load_manifest
from arbiter.engine import rule_set
from arbiter.links import FaultCode
from arbiter.match import Validation, validate
from arbiter.packages import FileVersions
from tests.cage.support import open_folder
from tests.match.support import UNHURRIED

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "sample_bots" / "lowest"
BOTS = ROOT / "tests" / "bots"
GAMES = ("black_lady", "spot", "black_maria_3")


@pytest.fixture(scope="module")
def versions() -> Iterator[FileVersions]:
    with open_folder() as place:
        yield FileVersions(place / "versions")


def run(versions: FileVersions, folder: Path, games: tuple[str, ...] = ("black_lady",), boards: int = 2) -> Validation:
    version = versions.put(folder).path
    manifest = load_manifest(version)
    rule_sets = {name: rule_set(name) for name in games}
    return asyncio.run(validate(version, manifest, rule_sets, choose_cage(False), boards, UNHURRIED))


def test_a_good_bot_passes_in_each_game(versions: FileVersions) -> None:
    validation = run(versions, SAMPLE, GAMES)
    assert validation.ok, validation.reasons
    assert [trial.rules for trial in validation.trials] == list(GAMES)
    assert [len(trial.record.hands) for trial in validation.trials] == [2, 2, 2]
    assert [trial.record.plan.rules.players for trial in validation.trials] == [4, 4, 3]
    assert validation.reasons == []
    assert all(trial.greeted_tables == 4096 for trial in validation.trials)


def test_a_crash_is_named_with_what_the_bot_printed(versions: FileVersions) -> None:
    validation = run(versions, BOTS / "crashing")
    assert not validation.ok
    (trial,) = validation.trials
    assert [fault.code for fault in trial.faults] == [FaultCode.CRASH]
    assert validation.reasons[0].startswith("black_lady: CRASH at sitting: ")
    assert trial.log.endswith("to load\n")
    assert trial.ending == "exit status 1"


def test_illegal_cards_are_named_with_board_and_trick(versions: FileVersions) -> None:
    validation = run(versions, BOTS / "cheat", boards=4)
    assert not validation.ok
    assert any(reason.startswith("black_lady: ILLEGAL_PLAY at board ") for reason in validation.reasons)


def test_a_bot_that_fails_in_one_game_is_not_tried_in_the_next(versions: FileVersions) -> None:
    validation = run(versions, BOTS / "crashing", GAMES)
    assert [trial.rules for trial in validation.trials] == ["black_lady"]


def claiming(tmp_path: Path, manifest: str, code: str) -> Path:
    folder = tmp_path / "bot"
    folder.mkdir()
    text = f'[bot]\nname = "claims"\nruntime = "python"\nrun = ["python", "bot.py"]\n{manifest}'
    (folder / "bot.toml").write_text(text)
    base = """\
        from arbiter.sdk import Bot, run

        class Low(Bot):
            {code}

            def choose_pass(self, view):
                return list(view.hand)[: view.pass_count]

            def choose_card(self, view):
                return view.legal[0]

        run(Low())
    """
    (folder / "bot.py").write_text(textwrap.dedent(base).format(code=code))
    return folder


@pytest.mark.parametrize(
    ("manifest", "code", "broken"),
    [
        ("max_open_tables = 3\n", "max_open_tables = 3", False),
        ("max_open_tables = 3\n", "max_open_tables = 2", True),
        ("max_open_tables = 3\n", "pass", True),
        ("", "max_open_tables = 2", False),
    ],
    ids=["kept", "less", "more", "no claim"],
)
def test_open_tables_are_as_claimed(
    manifest: str, code: str, broken: bool, versions: FileVersions, tmp_path: Path
) -> None:
    validation = run(versions, claiming(tmp_path, manifest, code))
    assert validation.ok is not broken
    assert not validation.trials[0].faults
    if broken:
        (reason,) = validation.reasons
        assert reason.startswith("black_lady: bot.toml says max_open_tables = 3, but the bot's greeting says ")


def test_node(versions: FileVersions, tmp_path: Path) -> None:
    """It runs in the cage as the table says; speaking the protocol is its own affair."""
    try:
        Runtimes.from_environment({})["node"].require()
    except RuntimeMissing as error:
        pytest.skip(str(error))
    (tmp_path / "bot.toml").write_text('[bot]\nname = "js"\nruntime = "node"\nrun = ["node", "bot.js", "word"]\n')
    (tmp_path / "bot.js").write_text("console.log(process.argv[2], process.env.ARBITER_ADDRESS); process.exit(3)\n")
    (trial,) = run(versions, tmp_path).trials
    assert (trial.ending, trial.log) == ("exit status 3", "word unix:/run/arbiter.sock\n")
