"""From a tournament file to a plan: who plays whom, over which deals, and which versions are fixed."""

from __future__ import annotations

import re
from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest

from arbiter.cage import ManifestError
from arbiter.deals import commitment, derive_deal_seed
from arbiter.packages import FileVersions
from arbiter.store import Entrant, Store, TournamentState
from arbiter.tournament import EntrantSpec, SpecError, TournamentSpec, enter, new_id, plan_tournament
from tests.tournament.support import ID, SEED, START, create, spec_of


def bot(folder: Path, name: str) -> Path:
    folder.mkdir()
    (folder / "bot.toml").write_text(f'[bot]\nname = "{name}"\nruntime = "python"\nrun = ["python", "bot.py"]\n')
    (folder / "bot.py").write_text("")
    return folder


def test_an_id_is_the_name_with_random_digits() -> None:
    every = {f"cup-{number:04x}" for number in range(0x10000)}
    assert len(new_id("cup", every)) == len("cup-123456")
    ids = {new_id("spring-cup") for _ in range(20)}
    assert all(re.fullmatch(r"spring-cup-[0-9a-f]{4,}", each) for each in ids)
    assert len(ids) > 10


def test_entrants_are_fixed_by_a_copy_under_their_digest(tmp_path: Path) -> None:
    first, second = bot(tmp_path / "a", "one"), bot(tmp_path / "b", "two")
    entrants = enter([EntrantSpec(first, None), EntrantSpec(second, "other")], FileVersions(tmp_path / "bots"))
    assert [(entrant.index, entrant.name) for entrant in entrants] == [(0, "one"), (1, "other")]
    assert entrants[1].manifest["name"] == "two"
    (first / "bot.py").write_text("print('changed after the entry')")
    for entrant in entrants:
        kept = FileVersions(tmp_path / "bots").open(entrant.digest)
        assert (kept / "bot.py").read_text() == ""


def test_one_bot_may_enter_twice_under_two_names(tmp_path: Path) -> None:
    folder = bot(tmp_path / "a", "one")
    entrants = enter([EntrantSpec(folder, None), EntrantSpec(folder, "again")], FileVersions(tmp_path / "bots"))
    assert entrants[0].digest == entrants[1].digest


def test_two_entrants_of_one_name_are_refused(tmp_path: Path) -> None:
    folders = [bot(tmp_path / part, "same") for part in "ab"]
    with pytest.raises(SpecError, match=r"entrants\.2: 'same' is entrant 1 already; give one of them another name"):
        enter([EntrantSpec(folder, None) for folder in folders], FileVersions(tmp_path / "bots"))


def test_a_folder_that_is_no_bot_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match="nowhere"):
        enter([EntrantSpec(tmp_path / "nowhere", None)], FileVersions(tmp_path / "bots"))


def test_a_plan_has_every_table_of_a_small_field_with_a_deal_set_of_its_own(store: Store) -> None:
    create(store, spec_of(6), running=False)
    matches = store.matches(ID)
    assert {match.entrants for match in matches} == set(combinations(range(6), 4))
    seed = bytes.fromhex(SEED)
    assert [match.deal_seed for match in matches] == [derive_deal_seed(seed, number) for number in range(15)]
    assert len({match.deal_seed for match in matches}) == 15
    assert all(match.commitment == commitment(match.deal_seed) for match in matches)
    assert store.tournament(ID).state is TournamentState.SCHEDULED
    assert store.progress(ID).total == 60


def test_a_large_field_meets_in_pairs_equally_often_within_one(store: Store) -> None:
    create(store, spec_of(14, meetings=2), running=False)
    met = Counter(pair for match in store.matches(ID) for pair in combinations(sorted(match.entrants), 2))
    assert len(met) == 14 * 13 // 2
    assert max(met.values()) - min(met.values()) <= 1
    assert min(met.values()) >= 2


def test_a_seed_that_the_file_does_not_give_is_drawn(store: Store) -> None:
    """A seed space that can't be enumerated: MultiAgentLearning/playground#148."""
    spec = spec_of(seed=None)
    create(store, spec)
    one, other = (plan_tournament("other", spec, store.entrants(ID), START)[0] for _ in range(2))
    assert len(one.deal_seed) == 32
    assert one.deal_seed != other.deal_seed
    assert SEED not in repr(one)


def test_a_stored_plan_is_all_that_a_resumed_run_needs(store: Store) -> None:
    spec = spec_of(5, clock={"bank": 7.5}, match={"boards": 3, "open_tables": 2, "fault_limit": 1})
    create(store, spec)
    assert TournamentSpec.from_dict(store.tournament(ID).spec).to_dict() == spec.to_dict()


def test_a_seed_changes_no_count_of_games() -> None:
    """brutaltester#42."""
    counts = []
    for seed in (SEED, None):
        spec = spec_of(5, seed=seed)
        entrants = [Entrant(index, f"bot{index}", f"{index:064x}", {}) for index in range(5)]
        _, matches = plan_tournament(ID, spec, entrants, START)
        counts.append([(match.index, match.entrants, match.boards) for match in matches])
    assert counts[0] == counts[1]
    assert counts[0]
