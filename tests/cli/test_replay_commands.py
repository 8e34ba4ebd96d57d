"""Replays on the command line: verified, exported, imported, shown from files; and what is published of deals when."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from arbiter.deals import commitment, derive_deal_seed
from arbiter.match import read_replay, unpack_replay, write_replay
from arbiter.match.notation import read_notation, write_notation
from arbiter.store import SittingKey, SittingState, Store, TournamentState
from arbiter.tournament import Desk
from arbiter.tournament.replays import NotReleased, published_deals, released_deal_set, released_logs
from tests.cli.conftest import Call
from tests.tournament.support import ID, SEED, START, Lowest, Revoker, create, granted, packed_of, play_all, spec_of
from tests.tournament.support import played as play_plan
from tests.tournament.support import report as report_sitting

SITTING = f"{ID}/0/1"
DEAL_SEED = derive_deal_seed(bytes.fromhex(SEED), 0)


@pytest.fixture
def stored(played: Path) -> bytes:
    with Store.open(played / "arbiter.db") as store:
        return write_replay(unpack_replay(store.replay(SittingKey.parse(SITTING))))


@pytest.fixture(scope="module")
def half(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five bots: the first match is played to its end, the second but for its last sitting, the others not at all.

    In the first a bot plays cards that it does not hold.
    """
    folder = tmp_path_factory.mktemp("half")
    with Store.open(folder / "arbiter.db") as store:
        create(store, spec_of(5))
        desk = Desk(store)
        for key in store.planned(ID, 7):
            grant = granted(desk, str(key))
            bots = [Revoker() if bot.entrant == 1 and key.match == 0 else Lowest() for bot in grant.plan.bots]
            report_sitting(desk, grant, packed_of(play_plan(grant.plan, bots)))
    return folder


def seeds(text: str, store: Store) -> set[str]:
    """The secrets of the tournament that are in a text: match numbers, and ``all`` for the tournament's seed."""
    found = {str(match.index) for match in store.matches(ID) if match.deal_seed.hex() in text}
    return found | ({"all"} if store.tournament(ID).deal_seed.hex() in text else set())


# -- verify ------------------------------------------------------------------------------------------------------------


def test_a_recorded_sitting_is_verified_with_its_deal_seed(call: Call, played: Path) -> None:
    outcome = call("replay", "verify", SITTING, "--data-dir", played)
    assert (outcome.status, outcome.errors) == (0, "")
    assert outcome.output == (
        f"ok {SITTING}: boards: 2, hands: 2; the deals are those of the deal seed with commitment"
        f" {commitment(DEAL_SEED)}\n"
    )
    found = json.loads(call("replay", "verify", SITTING, "--data-dir", played, "--json").output)
    assert found == {
        "sitting": SITTING,
        "boards": 2,
        "hands": 2,
        "deals_checked": True,
        "commitment": commitment(DEAL_SEED),
    }


def test_another_deal_seed_is_not_what_was_committed_to(call: Call, played: Path) -> None:
    outcome = call("replay", "verify", SITTING, "--data-dir", played, "--deal-seed", "00" * 32)
    assert (outcome.status, outcome.output) == (1, "")
    assert outcome.errors == (
        f"error: {SITTING}: the deal seed's commitment is {commitment(bytes(32))}, but {commitment(DEAL_SEED)} was"
        " published\n"
    )


@pytest.mark.parametrize("as_text", [False, True])
def test_a_file_is_verified_with_and_without_a_deal_seed(
    call: Call, tmp_path: Path, stored: bytes, as_text: bool
) -> None:
    file = tmp_path / "sitting"
    file.write_bytes(write_notation(read_replay(stored)).encode() if as_text else stored)
    outcome = call("replay", "verify", file)
    assert (outcome.status, outcome.errors) == (0, "")
    assert outcome.output.endswith("; no deal seed was given, so the deals are taken as they stand\n")
    assert call("replay", "verify", file, "--deal-seed", DEAL_SEED.hex()).status == 0
    published = ("--commitment", commitment(DEAL_SEED).upper())
    assert call("replay", "verify", file, "--deal-seed", DEAL_SEED.hex(), *published).status == 0
    wrong = call("replay", "verify", file, "--deal-seed", "ab" * 32, *published)
    assert (wrong.status, wrong.output) == (1, "")
    assert wrong.errors.startswith(
        f"error: {file}: the deal seed's commitment is {commitment(bytes.fromhex('ab' * 32))}"
    )
    other = call("replay", "verify", file, "--deal-seed", "ab" * 32)
    assert (other.status, other.output) == (1, "")
    assert (
        other.errors == f"error: {file}: board 1, hand 1: the cards of seat 0 are not those that the deal seed gives\n"
    )


def test_a_step_that_does_not_follow_is_named_in_one_line(call: Call, tmp_path: Path, stored: bytes) -> None:
    found = read_replay(stored)
    hand = replace(found.hands[1], points=(26, 0, 0, 0))
    file = tmp_path / "changed.jsonl"
    file.write_bytes(write_replay(replace(found, hands=(found.hands[0], hand))))
    outcome = call("replay", "verify", file)
    assert (outcome.status, outcome.output) == (1, "")
    assert outcome.errors.startswith(f"error: {file}: board 2, hand 1: scored (26, 0, 0, 0)")
    assert outcome.errors.count("\n") == 1


# -- export and import -------------------------------------------------------------------------------------------------


def test_what_is_exported_is_what_was_recorded(call: Call, played: Path, tmp_path: Path, stored: bytes) -> None:
    assert call("replay", "export", SITTING, "--data-dir", played).output.encode() == stored
    text = call("replay", "export", SITTING, "--text", "--data-dir", played).output
    assert write_replay(read_notation(text)) == stored
    file = tmp_path / "out.txt"
    outcome = call("replay", "export", SITTING, "--text", "-o", file, "--data-dir", played)
    assert (outcome.status, outcome.output, outcome.errors) == (0, "", "")
    assert file.read_text(encoding="utf-8") == text


def test_either_form_is_imported_and_the_other_comes_out(call: Call, tmp_path: Path, stored: bytes) -> None:
    lines, text, again = tmp_path / "a", tmp_path / "b", tmp_path / "c"
    lines.write_bytes(b"\xef\xbb\xbf" + stored)
    assert call("replay", "import", lines, "-o", text).status == 0
    assert text.read_text(encoding="utf-8") == write_notation(read_replay(stored))
    assert call("replay", "import", text, "--output", again).status == 0
    assert again.read_bytes() == stored
    assert call("replay", "import", text).output.encode() == stored


def test_what_does_not_hold_is_not_imported(call: Call, tmp_path: Path, stored: bytes) -> None:
    text = write_notation(read_replay(stored)).replace('[Dealer "0"]', '[Dealer "3"]', 1)
    file, target = tmp_path / "changed.txt", tmp_path / "out"
    file.write_text(text, encoding="utf-8")
    outcome = call("replay", "import", file, "-o", target)
    assert (outcome.status, outcome.output) == (1, "")
    assert outcome.errors.startswith(f"error: {file}: board 1, hand 1: dealt by seat 3, but seat 0")
    assert not target.exists()


@pytest.mark.parametrize("as_text", [False, True])
def test_a_file_is_shown_as_its_sitting_is(
    call: Call, played: Path, tmp_path: Path, stored: bytes, as_text: bool
) -> None:
    file = tmp_path / "sitting"
    file.write_bytes(write_notation(read_replay(stored)).encode() if as_text else stored)
    for words in (("--board", "2"), ("--json",)):
        shown = call("replay", "show", file, *words)
        assert (shown.status, shown.errors) == (0, "")
        assert shown.output == call("replay", "show", SITTING, *words, "--data-dir", played).output


MISTAKES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "a broken tag": (
        lambda data: write_notation(read_replay(data)).replace('[Boards "2"]', '[Boards "two"]').encode(),
        "line 4: [Boards]: 'two' is no whole number",
    ),
    "a broken line": (lambda data: data.replace(b'{"board":2', b'{"bard":2'), "line 3: not what a replay holds"),
    "no text in JSON Lines": (lambda data: data + b"\xff", "line 5: not UTF-8"),
    "no text in the notation": (
        lambda data: write_notation(read_replay(data)).encode() + b"\n\xff",
        "not UTF-8",
    ),
    "something else": (lambda data: b"hello\n", "line 1: not what a replay holds there"),
    "nothing": (lambda data: b"", "line 1: not what a replay holds there"),
}


@pytest.mark.parametrize("name", MISTAKES)
@pytest.mark.parametrize("command", ["verify", "import", "show"])
def test_files_that_hold_no_replay_are_refused(
    call: Call, tmp_path: Path, stored: bytes, name: str, command: str
) -> None:
    change, message = MISTAKES[name]
    file = tmp_path / "file"
    file.write_bytes(change(stored))
    outcome = call("replay", command, file)
    assert (outcome.status, outcome.output) == (1, "")
    assert outcome.errors.startswith(f"error: {file}: ")
    assert message in outcome.errors
    assert outcome.errors.count("\n") == 1


def test_what_is_not_there_is_a_mistake_of_use(call: Call, played: Path, tmp_path: Path) -> None:
    for words, message in (
        (
            ("verify", "gone.jsonl"),
            "gone.jsonl: no file, and no sitting either; write TOURNAMENT/MATCH/SITTING, such as",
        ),
        (("show", "a/b/gone.txt"), "a/b/gone.txt: no file, and no sitting either"),
        (("import", tmp_path / "gone"), f"{tmp_path / 'gone'}: can't be read: No such file"),
        (("verify", SITTING, "--deal-seed", "abc"), "--deal-seed: is 'abc'; write 64 hexadecimal digits"),
        (("verify", SITTING, "--deal-seed", "ab" * 16), "write 64 hexadecimal digits"),
        (("verify", SITTING, "--commitment", "ab" * 32), "--commitment checks a deal seed; give it with --deal-seed"),
        (("verify", "other/0/0"), "no tournament's id begins with 'other'"),
        (("export", f"{ID}/0"), f"'{ID}/0' does not name a sitting"),
        (("export", f"{ID}/0/9"), "no sitting"),
        (("export", SITTING, "-o", tmp_path / "no" / "file"), "can't be written: No such file or directory; choose"),
    ):
        place = () if words[0] == "import" else ("--data-dir", played)
        outcome = call("replay", *words, *place)
        assert (outcome.status, outcome.output) == (2, ""), words
        assert message in outcome.errors
        assert outcome.errors.count("\n") == 1


# -- nothing leaves before a match's last sitting ----------------------------------------------------------------------


def test_nothing_of_a_match_that_is_still_played_is_told(call: Call, half: Path) -> None:
    with Store.open(half / "arbiter.db") as store:
        assert store.progress(ID).sittings[SittingState.RECORDED] == 7
    for words in (
        ("replay", "verify"),
        ("replay", "export"),
        ("replay", "show"),
        ("sitting", "logs"),
    ):
        outcome = call(*words, f"{ID}/1/0", "--data-dir", half)
        assert (outcome.status, outcome.output) == (2, ""), words
        assert f"match {ID}/1 is still being played; its " in outcome.errors
        assert call(*words, f"{ID}/0/0", "--data-dir", half).status == 0, words


def test_the_store_s_own_readers_refuse_it_too(half: Path) -> None:
    with Store.open(half / "arbiter.db") as store:
        for read in (released_logs, released_deal_set):
            with pytest.raises(NotReleased):
                read(store, SittingKey(ID, 1, 0))


def test_commitments_are_public_and_seeds_are_not_before_their_time(call: Call, half: Path) -> None:
    with Store.open(half / "arbiter.db") as store:
        outcome = call("tournament", "deals", ID[:-1], "--data-dir", half, "--json")
        assert (outcome.status, outcome.errors) == (0, "")
        assert seeds(outcome.output, store) == {"0"}
        table = call("tournament", "deals", ID, "--data-dir", half)
        assert table.status == 0
        assert seeds(table.output, store) == {"0"}
        assert "tournament seed: published when it is completed" in table.output
        matches = store.matches(ID)
        assert all(match.commitment in table.output for match in matches)
    found = json.loads(outcome.output)
    assert (found["tournament"], found["tournament_seed"]) == (ID, None)
    assert [deal_set["commitment"] for deal_set in found["deal_sets"]] == [match.commitment for match in matches]
    published = {deal_set["match"]: deal_set["deal_seed"] for deal_set in found["deal_sets"]}
    assert published == {0: DEAL_SEED.hex(), 1: None, 2: None, 3: None, 4: None}
    assert commitment(bytes.fromhex(published[0])) == matches[0].commitment


def test_seeds_come_one_by_one_and_the_tournaments_own_at_the_end(tmp_path: Path) -> None:
    """After every single sitting: a seed is out when its match is complete, and the one above all when all is over."""
    with Store.open(tmp_path / "arbiter.db") as store:
        create(store, spec_of(5))
        desk = Desk(store)
        planned = store.planned(ID)
        for done, key in enumerate(reversed(planned)):
            open_matches = {each.match for each in planned[: len(planned) - done]}
            found = published_deals(store, ID)
            assert found.seed is None
            assert {each.match for each in found.deal_sets if each.deal_seed is None} == open_matches
            report_sitting(desk, granted(desk, str(key)))
        assert published_deals(store, ID).seed is None, "recorded to the end, but not completed"
        store.set_state(ID, TournamentState.COMPLETED, now=START)
        found = published_deals(store, ID)
        assert found.seed == bytes.fromhex(SEED)
        assert [each.deal_seed for each in found.deal_sets] == [
            derive_deal_seed(found.seed, match) for match in range(len(found.deal_sets))
        ]


@pytest.mark.parametrize("state", [TournamentState.CANCELLED, TournamentState.FAILED, TournamentState.COMPLETED])
def test_a_tournament_that_was_not_played_to_its_end_keeps_its_seed(tmp_path: Path, state: TournamentState) -> None:
    with Store.open(tmp_path / "arbiter.db") as store:
        create(store)
        reason = "a disk broke" if state is TournamentState.FAILED else None
        store.set_state(ID, state, now=START, failure=reason)
        found = published_deals(store, ID)
        assert (found.seed, [each.deal_seed for each in found.deal_sets]) == (None, [None])


def test_a_seed_is_not_in_what_python_shows_of_it(tmp_path: Path) -> None:
    with Store.open(tmp_path / "arbiter.db") as store:
        create(store)
        play_all(store, Desk(store))
        store.set_state(ID, TournamentState.COMPLETED, now=START)
        shown = repr(published_deals(store, ID))
    assert SEED not in shown
    assert repr(bytes.fromhex(SEED)) not in shown


# -- logs --------------------------------------------------------------------------------------------------------------


def test_each_bots_ending_faults_and_log_are_told(call: Call, half: Path) -> None:
    """OpenBench#201, aiarena-web#242."""
    outcome = call("sitting", "logs", f"{ID[:-1]}/0/2", "--data-dir", half, "--json")
    assert (outcome.status, outcome.errors) == (0, "")
    found = json.loads(outcome.output)
    assert found["sitting"] == f"{ID}/0/2"
    assert [(bot["name"], bot["ending"], bot["log"]) for bot in found["bots"]] == [
        (f"bot{number}", "exit status 0", f"said bot{number}") for number in range(4)
    ]
    assert [bool(bot["faults"]) for bot in found["bots"]] == [False, True, False, False]
    first = found["bots"][1]["faults"][0]
    assert (first["code"], first["board"], first["hand"], first["trick"]) == ("ILLEGAL_PLAY", 1, 1, 1)
    with Store.open(half / "arbiter.db") as store:
        kept = unpack_replay(store.replay(SittingKey(ID, 0, 2)))
    assert [(fault["code"], fault["detail"]) for fault in found["bots"][1]["faults"]] == [
        (fault.code.value, fault.detail) for hand in kept.hands for fault in hand.faults
    ]
    table = call("sitting", "logs", f"{ID}/0/2", "--data-dir", half)
    assert (table.status, table.errors) == (0, "")
    assert "bot0: exit status 0\n  said bot0\n" in table.output
    assert f"  ILLEGAL_PLAY at board 1, hand 1, seat {first['seat']}, trick 1: {first['detail']}\n" in table.output


def test_one_bots_log_alone(call: Call, half: Path) -> None:
    outcome = call("sitting", "logs", f"{ID}/0/0", "--entrant", "bot2", "--data-dir", half)
    assert (outcome.status, outcome.output) == (0, "bot2: exit status 0\n  said bot2\n")
    other = call("sitting", "logs", f"{ID}/0/0", "--entrant", "bot9", "--data-dir", half)
    assert (other.status, other.output) == (2, "")
    assert other.errors == f"error: sitting {ID}/0/0 has no bot 'bot9'; it has bot0, bot1, bot2, bot3\n"
