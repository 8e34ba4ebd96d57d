"""The tournament file: what it gives, and one clear line for everything that is wrong in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from arbiter.engine import rule_set
from arbiter.match import Clock, FaultPolicy, MatchFormat
from arbiter.tournament import SpecError, TournamentSpec, load_spec
from arbiter.tournament.formats import Gauntlet, Knockout, RoundRobin, Seeding, Swiss, TournamentFormat

BOTS = """
[[entrants]]
bot = "a"
[[entrants]]
bot = "b"
[[entrants]]
bot = "c"
[[entrants]]
bot = "d"
name = "other"
"""

WHOLE = (
    """
name = "spring-cup"
format = "roundrobin"
meetings = 3
workers = 4
deal_seed = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

[rules]
name = "black_lady"
options = ["new_moon"]
target = 50

[match]
format = "game"
boards = 8
seatings = "rotations"
open_tables = 12
fault_limit = 0

[clock]
start_up = 5
bank = 1.5
increment = 0
hard_stop = 2
"""
    + BOTS
)


def write(folder: Path, text: str) -> Path:
    path = folder / "cup.toml"
    path.write_text(text)
    return path


def test_everything_that_a_file_can_say(tmp_path: Path) -> None:
    spec = load_spec(write(tmp_path, WHOLE))
    assert spec.name == "spring-cup"
    assert spec.rules == rule_set("black_lady", ["new_moon"], {"target": 50})
    assert spec.rules_name == "black_lady + new_moon + target=50"
    assert (spec.match_format, spec.boards, spec.open_tables, spec.fault_limit) == (MatchFormat.GAME, 8, 12, 0)
    assert spec.clocks == (Clock(start_up=5.0, bank=1.5, increment=0.0, hard_stop=2.0, margin=0.1),) * 4
    assert (spec.format, spec.workers) == (RoundRobin(meetings=3), 4)
    assert spec.deal_seed == bytes.fromhex("00112233445566778899aabbccddeeff" * 2)
    assert [(entrant.folder, entrant.name) for entrant in spec.entrants] == [
        (tmp_path / "a", None),
        (tmp_path / "b", None),
        (tmp_path / "c", None),
        (tmp_path / "d", "other"),
    ]


def test_what_a_file_leaves_out_has_a_default(tmp_path: Path) -> None:
    spec = load_spec(write(tmp_path, f'name = "cup"\n{BOTS}'))
    assert spec.rules == rule_set("black_lady")
    assert spec.match_format is MatchFormat.HANDS
    assert spec.deal_seed is None


def test_a_stored_spec_comes_back_equal(tmp_path: Path) -> None:
    spec = load_spec(write(tmp_path, WHOLE))
    stored = TournamentSpec.from_dict(spec.to_dict())
    assert stored.to_dict() == spec.to_dict()
    assert stored.rules == spec.rules


SIX = f'{BOTS}[[entrants]]\nbot = "e"\n[[entrants]]\nbot = "f"\n'


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("", RoundRobin()),
        ('format = "roundrobin"\nmeetings = 2', RoundRobin(2)),
        ('format = "gauntlet"', Gauntlet(1)),
        ('format = "gauntlet"\nmeetings = 4\ngauntlet = { champions = 3 }', Gauntlet(3, 4)),
        ('format = "swiss"\nswiss = { stages = 5 }', Swiss(5, Seeding.DRAWN)),
        ('format = "swiss"\nswiss = { stages = 2, seeding = "listed" }', Swiss(2, Seeding.LISTED)),
        ('format = "knockout"', Knockout(2, Seeding.DRAWN)),
        ('format = "knockout"\nknockout = { advance = 1, seeding = "listed" }', Knockout(1, Seeding.LISTED)),
        ('format = "knockout"\nrules = { name = "black_maria_3" }', Knockout(1)),
    ],
)
def test_a_format_and_its_options_come_back_from_the_store(
    tmp_path: Path, head: str, expected: TournamentFormat
) -> None:
    spec = load_spec(write(tmp_path, f'name = "cup"\n{head}\n{SIX}'))
    assert spec.format == expected
    assert TournamentSpec.from_dict(spec.to_dict()).format == expected


def test_a_plan_of_before_there_were_formats_is_a_round_robin(tmp_path: Path) -> None:
    stored = load_spec(write(tmp_path, WHOLE)).to_dict()
    del stored["format"]
    assert TournamentSpec.from_dict({**stored, "meetings": 3}).format == RoundRobin(3)


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ('format = "swiss"', "swiss: is missing; write [swiss] with stages = 5, or another number"),
        ('format = "swiss"\nswiss = {}', "swiss.stages: is missing"),
        ('format = "swiss"\nswiss = { stage = 5 }', "swiss.stage: unknown key; did you mean 'stages'?"),
        ('format = "swiss"\nswiss = { stages = 0 }', "swiss.stages: input should be greater than or equal to 1"),
        (
            'format = "swiss"\nswiss = { stages = 2, seeding = "random" }',
            "swiss.seeding: input should be 'drawn' or 'listed' (is 'random')",
        ),
        (
            "swiss = { stages = 5 }",
            "swiss: is given, but format is 'round-robin'; write format = 'swiss' or leave it out",
        ),
        (
            'format = "knockout"\ngauntlet = {}',
            "gauntlet: is given, but format is 'knockout'; write format = 'gauntlet' or leave it out",
        ),
        (
            'format = "knockout"\nmeetings = 2',
            "meetings: says nothing in format 'knockout'; it goes with round-robin and gauntlet",
        ),
        (
            'format = "knockout"\nknockout = { advance = 4 }',
            "knockout.advance: is 4, but of a table of 4 at the most 3 can go on",
        ),
        (
            'format = "gauntlet"\ngauntlet = { champions = 4 }',
            "gauntlet.champions: is 4 of 6, but a table seats a champion and 3 of the field; write 3 at the most",
        ),
    ],
)
def test_a_format_that_can_t_be_is_refused_in_one_line(tmp_path: Path, head: str, message: str) -> None:
    path = write(tmp_path, f'name = "cup"\n{head}\n{SIX}')
    with pytest.raises(SpecError) as caught:
        load_spec(path)
    line = str(caught.value)
    assert line.startswith(f"{path}: {message}")
    assert "\n" not in line


def test_with_as_many_bots_as_seats_a_gauntlet_has_one_champion_at_most(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"is 2 of 4, but .*; write 1 at the most"):
        load_spec(write(tmp_path, f'name = "cup"\nformat = "gauntlet"\ngauntlet = {{ champions = 2 }}\n{BOTS}'))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name = ", "is no TOML"),
        (BOTS, "name: is missing"),
        (f'nme = "cup"\n{BOTS}', "nme: unknown key; did you mean 'name'?"),
        (f'name = "Cup!"\n{BOTS}', "name: is 'Cup!'; write lower-case letters, digits and hyphens"),
        ('name = "cup"\n', "entrants: 0 given, but a table of black_lady seats 4"),
        ('name = "cup"\nentrants = []\n', "entrants: 0 given, but a table of black_lady seats 4"),
        (f'name = "cup"\nbord = 3\n{BOTS}', "bord: unknown key; known are: clock, deal_seed"),
        (f'name = "cup"\nworker = 3\n{BOTS}', "worker: unknown key; did you mean 'workers'?"),
        (f'name = "cup"\n[match]\nboard = 3\n{BOTS}', "match.board: unknown key; did you mean 'boards'?"),
        (
            f'name = "cup"\n[match]\nboards = 0\n{BOTS}',
            "match.boards: input should be greater than or equal to 1 (is 0)",
        ),
        (f'name = "cup"\n[match]\nboards = "8"\n{BOTS}', "match.boards: input should be a valid integer (is '8')"),
        (
            f'name = "cup"\n[rules]\nheart_value = 0\nQS = 0\n[match]\nformat = "game"\n{BOTS}',
            "rules: no card has positive points, so a game would never end",
        ),
        (f'name = "cup"\n[match]\nseatings = 25\n{BOTS}', "match.seatings: is 25; there are 24 arrangements"),
        (f'name = "cup"\n[match]\nboards = true\n{BOTS}', "match.boards: input should be a valid integer (is True)"),
        (f'name = "cup"\n[clock]\nbank = -1\n{BOTS}', "clock.bank: input should be greater than or equal to 0"),
        (f'name = "cup"\n[clock]\nbank = nan\n{BOTS}', "clock.bank: input should be"),
        (f'name = "cup"\nclock = "fast"\n{BOTS}', "clock: value error, write bank and increment in seconds"),
        (f'name = "cup"\n{BOTS}clock = {{ bnk = 3 }}\n', "entrants.4.clock.bnk: unknown key; did you mean 'bank'?"),
        (
            f'name = "cup"\n[match]\nfault_policy = "none"\n{BOTS}',
            "match.fault_policy: input should be 'stand_in', 'penalty' or 'forfeit_match'",
        ),
        (
            f'name = "cup"\n[rules]\nname = "reverse"\n[match]\nfault_policy = "penalty"\n{BOTS}',
            "match.fault_policy: under reverse a penalty in points costs nothing; write 'stand_in'",
        ),
        (f'name = "cup"\nformat = "league"\n{BOTS}', "format: input should be 'round-robin', 'roundrobin', "),
        (f'name = "cup"\ndeal_seed = "12"\n{BOTS}', "deal_seed: is '12'; write 64 hexadecimal digits"),
        (
            f'name = "cup"\n[rules]\nname = "black_ladi"\n{BOTS}',
            "there is no rule set 'black_ladi' (did you mean 'black_lady'?)",
        ),
        (f'name = "cup"\n[rules]\nname = 3\n{BOTS}', "rules.name: is 3"),
        (
            f'name = "cup"\n[rules]\noptions = ["new_mon"]\n{BOTS}',
            "black_lady has no option 'new_mon' (did you mean 'new_moon'?)",
        ),
        (f'name = "cup"\n[rules]\nmoom = "new"\n{BOTS}', "'moom': is no parameter; did you mean 'moon'?"),
        (f'name = "cup"\n[rules]\nmoon = "blue"\n{BOTS}', "'moon': is 'blue'; allowed: none, old"),
        (
            f'name = "cup"\n[rules]\nname = "partnership"\n{BOTS}',
            "entrants.1.side: is missing, but the rule set has teams",
        ),
        (f'name = "cup"\n{BOTS}side = "red"\n', "entrants.4.side: is given, but the rule set has no teams"),
        (f'name = "cup"\n[rules]\nname = "black_lady_mixed_moon"\n{BOTS}', "rules.moon: is mixed, which needs"),
        (f'name = "cup"\n[rules]\nname = "cancellation"\n{BOTS}', "4 given, but a table of cancellation seats 6"),
        (f'name = "cup"\n{BOTS}nam = "x"\n', "entrants.4.nam: unknown key; did you mean 'name'?"),
        (f'name = "cup"\n{BOTS}[[entrants]]\nname = "x"\n', "entrants.5.bot: is missing"),
    ],
)
def test_each_mistake_is_named_with_its_place_and_remedy(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(SpecError) as caught:
        load_spec(path)
    line = str(caught.value)
    assert line.startswith(f"{path}: ")
    assert message in line
    assert "\n" not in line


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"nowhere\.toml: can't be read: No such file"):
        load_spec(tmp_path / "nowhere.toml")


def test_an_entrant_may_have_a_clock_of_its_own_and_the_rest_the_tournament_s(tmp_path: Path) -> None:
    text = f'name = "cup"\nclock = "60+0.5"\n{BOTS}clock = {{ bank = 90, margin = 0 }}\n'
    spec = load_spec(write(tmp_path, text))
    usual = Clock(bank=60.0, increment=0.5)
    assert spec.clocks == (usual, usual, usual, Clock(bank=90.0, increment=0.5, margin=0.0))
    assert TournamentSpec.from_dict(spec.to_dict()).clocks == spec.clocks
    assert load_spec(write(tmp_path, f'name = "cup"\nclock = "5"\n{BOTS}')).clocks[0] == Clock(bank=5.0, increment=0.0)


def test_what_a_fault_costs_is_kept(tmp_path: Path) -> None:
    spec = load_spec(write(tmp_path, f'name = "cup"\n[match]\nfault_policy = "forfeit_match"\n{BOTS}'))
    assert spec.fault_policy is FaultPolicy.FORFEIT_MATCH
    assert TournamentSpec.from_dict(spec.to_dict()).fault_policy is FaultPolicy.FORFEIT_MATCH
