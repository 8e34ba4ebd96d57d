"""A rule set that contradicts itself is refused, with a message that names the parameter and what would be right."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arbiter.engine import OPTIONS, RULE_SETS, RuleSet, RuleSetError, compile_rules, rule_set
from tests.engine.strategies import (
    PARAMETERS,
    VARIANTS,
    Variant,
    any_combination,
    changed_rule_sets,
    play_out,
    random_hand,
    rules_of,
    seeds,
    variant_id,
)

TWO_PACKS = {"decks": 2, "first_leader": "left_of_dealer", "first_lead": "any"}
ANY_LEAD = {"first_leader": "left_of_dealer", "first_lead": "any"}
TEAMS = {"teams": [[0, 2], [1, 3]], "moon_partner": "spared"}

REFUSED: list[tuple[dict[str, Any], str, str]] = [
    # The pack.
    ({"players": 2}, "players", "one pack seats 3 to 4"),
    ({"players": 5}, "players", "one pack seats 3 to 4"),
    ({**TWO_PACKS, "players": 3}, "players", "two packs seat 4 to 11"),
    ({**TWO_PACKS, "players": 12}, "players", "two packs seat 4 to 11"),
    ({"players": 4.0}, "players", "write a whole number"),
    ({"players": True}, "players", "write a whole number"),
    ({"decks": 3}, "decks", "allowed: 1 or 2"),
    ({"removed": ["1X"]}, "removed", "'1X' is no card"),
    ({"removed": ["2D", "2D", "3D", "4D"]}, "removed", "a card twice"),
    ({"removed": "2C"}, "removed", "write a list"),
    ({"removed": [f"{rank}{suit}" for suit in "CDHS" for rank in "23456789TJQKA"]}, "removed", "no card to deal"),
    ({"removed": ["2D"]}, "leftover", "51 cards do not divide by 4: remove 3 or take kitty_to_first_trick"),
    ({"leftover": "burn"}, "leftover", "allowed: none, kitty_to_first_trick"),
    ({"hand_size": 12}, "hand_size", "the pack deals 13"),
    # The pass.
    ({"players": 3, "removed": ["2D"]}, "pass_cycle", "3 seats have no seat opposite"),
    ({**TWO_PACKS, "players": 5, "leftover": "kitty_to_first_trick"}, "pass_cycle", "5 seats have no seat opposite"),
    ({"pass_cycle": []}, "pass_cycle", "is empty"),
    ({"pass_cycle": "left"}, "pass_cycle", "write a list"),
    ({"pass_cycle": ["up"]}, "pass_cycle", "allowed: left, right, across, none"),
    ({"pass_count": 14}, "pass_count", "a hand has 13 cards"),
    ({"pass_count": -1}, "pass_count", "a hand has 13 cards"),
    ({"pass_count": 0}, "pass_count", "write a cycle of none"),
    ({"pass_cycle": ["none", "none"]}, "pass_count", "write 0"),
    # The first lead.
    ({"decks": 2}, "first_leader", "two packs hold two of them"),
    ({"removed": ["2C", "2D", "2H", "2S"]}, "first_leader", "2C is removed"),
    (
        {"players": 3, "leftover": "kitty_to_first_trick", "pass_cycle": ["left"]},
        "first_leader",
        "2C may lie in the kitty",
    ),
    ({"first_leader": "left_of_dealer"}, "first_lead", "first_leader is not its holder"),
    ({"first_leader": "dealer"}, "first_leader", "allowed: holder_2C, left_of_dealer"),
    ({"first_lead": "3C"}, "first_lead", "allowed: 2C, any"),
    # What may be played.
    ({"first_trick_ban": "hearts"}, "first_trick_ban", "allowed: none, penalty_cards"),
    ({"first_trick_exception": "none"}, "first_trick_exception", "allowed: any_card_if_only_penalty"),
    ({"must_break_hearts": 1}, "must_break_hearts", "write true or false"),
    ({"qs_breaks_hearts": "no"}, "qs_breaks_hearts", "write true or false"),
    ({"lead_if_only_hearts": "never"}, "lead_if_only_hearts", "allowed: allowed"),
    ({"lead_if_only_penalty": "heart"}, "lead_if_only_penalty", "allowed: non_heart, free"),
    ({"qs_may_lead": "never"}, "qs_may_lead", "allowed: always, when_broken"),
    # Cancellation.
    (
        {"cancellation": True, "all_cancelled": "carry_same_leader", "last_all_cancelled": "to_trick_leader"},
        "cancellation",
        "needs two packs",
    ),
    ({**TWO_PACKS, "cancellation": True, "last_all_cancelled": "to_trick_leader"}, "all_cancelled", "is null"),
    ({**TWO_PACKS, "cancellation": True, "all_cancelled": "carry_same_leader"}, "last_all_cancelled", "is null"),
    ({"all_cancelled": "burn"}, "all_cancelled", "allowed: carry_same_leader"),
    # Points.
    ({"heart_value": -1}, "heart_value", "at least 0 or 'pip'"),
    ({"heart_value": "face"}, "heart_value", "whole number or 'pip'"),
    ({"heart_value": 1.5}, "heart_value", "whole number or 'pip'"),
    ({"QS": -13}, "QS", "negative points belong under bonus"),
    ({"KS": -1}, "KS", "negative points belong under bonus"),
    ({"AS": "7"}, "AS", "write a whole number"),
    ({"removed": ["QS", "2D", "3D", "4D"]}, "QS", "is removed from the pack"),
    ({"card_values": {"9D": -4}}, "card_values", "negative points belong under bonus"),
    ({"card_values": {"XD": 4}}, "card_values", "'XD' is no card"),
    ({"card_values": [["9D", 4]]}, "card_values", "write a table"),
    ({"removed": ["9D", "2D", "3D", "4D"], "card_values": {"9D": 4}}, "card_values", "names 9D, which is removed"),
    ({"removed": ["JD", "2D", "3D", "4D"], "bonus": {"JD": -10}}, "bonus", "names JD, which is removed"),
    ({"bonus": {"JD": 10}}, "bonus", "a bonus is negative"),
    ({"bonus": {"JD": 0}}, "bonus", "a bonus is negative"),
    ({"bonus": {"QS": -10}}, "bonus", "QS, which has positive points already"),
    ({"bonus": {"AH": -10}}, "bonus", "AH, which has positive points already"),
    ({"bonus": {"JD": -10}, "card_values": {"JD": 1}}, "bonus", "JD, which has positive points already"),
    # The moon.
    ({"moon": "blue"}, "moon", "allowed: none, old, new, choice, mixed"),
    ({"moon_needs": "hearts"}, "moon_needs", "allowed: all_positive_cards"),
    ({"moon_value": "26"}, "moon_value", "allowed: sum_of_positive"),
    ({"moon_bonus": "lost"}, "moon_bonus", "allowed: independent"),
    ({"moon_unit": "team"}, "moon_unit", "allowed: player"),
    ({"moon_partner": "spared"}, "moon_partner", "there are no teams"),
    ({"teams": [[0, 2], [1, 3]]}, "moon_partner", "teams need spared or charged"),
    # The game.
    ({"start": "0"}, "start", "write a whole number"),
    ({"sign": 0}, "sign", "allowed: 1 or -1"),
    ({"sign": -1}, "sign", "moves totals away from the target"),
    ({"start": 100}, "target", "has already reached"),
    ({"start": 100, "sign": 1, "end": "any_at_most", "target": 0}, "sign", "moves totals away from the target"),
    ({"end": "any_at_most", "sign": -1, "target": 0}, "target", "has already reached"),
    ({"end": "hands", "target": 0}, "target", "at least one hand"),
    ({"end": "never"}, "end", "allowed: any_at_least, any_at_most, hands"),
    ({"winner": "first"}, "winner", "allowed: lowest, highest"),
    ({"tie": "coin"}, "tie", "allowed: continue, shared, extra_hand_between_tied"),
    ({"score_floor": 0}, "score_floor", "the only value today is null"),
    ({**TEAMS, "teams": [[0, 1], [2]]}, "teams", "each seat from 0 to 3 once"),
    ({**TEAMS, "teams": [[0, 2], [1, 2]]}, "teams", "each seat from 0 to 3 once"),
    ({**TEAMS, "teams": [[0, 2], [1, 4]]}, "teams", "each seat from 0 to 3 once"),
    ({**TEAMS, "teams": [[0], [1, 2, 3]]}, "teams", "unequal size"),
    ({**TEAMS, "teams": [[0, 1, 2, 3]]}, "teams", "a game needs two"),
    ({**TEAMS, "teams": "02 13"}, "teams", "write a list"),
    ({"revoke": "forgive"}, "revoke", "allowed: reject_move, offender_takes_all"),
    ({"misdeal": "next_dealer"}, "misdeal", "allowed: redeal_same_dealer"),
    ({"claim": "always"}, "claim", "allowed: none"),
    # No parameter at all.
    ({"pass_cout": 3}, "pass_cout", "did you mean 'pass_count'?"),
    ({"zzz": 3}, "zzz", "is no parameter"),
]


@pytest.mark.parametrize(("change", "parameter", "reason"), REFUSED, ids=[f"{row[1]}: {row[2]}" for row in REFUSED])
def test_refused(change: dict[str, Any], parameter: str, reason: str) -> None:
    with pytest.raises(RuleSetError, match=re.escape(reason)) as caught:
        rule_set("black_lady", override=change)
    assert caught.value.parameter == parameter
    assert f"rule set parameter {parameter!r}: " in str(caught.value)
    assert "\n" not in str(caught.value)


def test_refusals_cover_every_parameter() -> None:
    assert {row[1] for row in REFUSED} >= set(RULE_SETS["black_lady"].to_dict())


ALLOWED: list[dict[str, Any]] = [
    {"players": 3, "removed": ["2D"], "pass_cycle": ["left"]},
    {**ANY_LEAD, "players": 3, "leftover": "kitty_to_first_trick", "pass_cycle": ["right"]},
    {**TWO_PACKS, "players": 4, "pass_count": 26},
    {**TWO_PACKS, "players": 11, "leftover": "kitty_to_first_trick", "pass_cycle": ["left"]},
    {"first_lead": "any"},
    {"removed": ["QS", "2D", "3D", "4D"], "QS": 0},
    {"bonus": {"QS": -5}, "QS": 0},
    {"heart_value": 0, "QS": 0},
    {"pass_cycle": ["left", "none"], "pass_count": 13},
    {"end": "hands", "target": 1, "sign": -1},
    {**TEAMS, "moon_partner": "charged"},
    {"teams": [[0], [1], [2], [3]], "moon_partner": "spared"},
    {"hand_size": 13},
    {"removed": ["2d", "3d", "4d", "5d"]},
]


@pytest.mark.parametrize("change", ALLOWED, ids=str)
def test_allowed(change: dict[str, Any]) -> None:
    rules = compile_rules(rule_set("black_lady", override=change))
    play_out(random_hand(rules, random.Random(1)), random.Random(2))


def test_a_card_has_one_spelling_in_code() -> None:
    with pytest.raises(RuleSetError, match=r"'2d'.*write 2D"):
        RuleSet(removed=("2d", "3D", "4D", "5D"))


@pytest.mark.parametrize(
    ("name", "options", "parameter", "message"),
    [
        ("black_ladie", [], "rules", "did you mean 'black_lady'?"),
        ("black_lady", ["newmoon"], "options", "did you mean 'new_moon'?"),
        ("spot", ["new_moon"], "options", "spot has no option 'new_moon'; there are: none"),
    ],
)
def test_unknown_names_are_refused(name: str, options: list[str], parameter: str, message: str) -> None:
    with pytest.raises(RuleSetError, match=re.escape(message)) as caught:
        rule_set(name, options)
    assert caught.value.parameter == parameter


def test_overrides_lie_over_options_in_order() -> None:
    assert rule_set("black_lady", ["new_moon", "mixed_moon"]).moon == "mixed"
    assert rule_set("black_lady", ["mixed_moon", "new_moon"]).moon == "new"
    assert rule_set("black_lady", ["mixed_moon"], {"moon": "none"}).moon == "none"


@pytest.mark.parametrize("variant", VARIANTS, ids=variant_id)
def test_round_trip(variant: Variant) -> None:
    source = rules_of(variant).source
    again = RuleSet.from_dict(source.to_dict())
    assert again == source
    assert hash(again) == hash(source)
    assert again.to_dict() == source.to_dict()
    assert compile_rules(again) is compile_rules(source)


def test_data_of_a_rule_set_is_a_copy() -> None:
    data = RULE_SETS["omnibus"].to_dict()
    data["bonus"]["QS"] = -1
    data["pass_cycle"].clear()
    assert RULE_SETS["omnibus"] == rule_set("omnibus")
    assert dict(RULE_SETS["omnibus"].bonus) == {"JD": -10}


def test_options_do_not_change_the_named_rule_set() -> None:
    before = {name: rules.to_dict() for name, rules in RULE_SETS.items()}
    for name, options in OPTIONS.items():
        for option in options:
            assert rule_set(name, [option]) != RULE_SETS[name]
    assert {name: rules.to_dict() for name, rules in RULE_SETS.items()} == before


def _read(data: dict[str, Any]) -> RuleSet | RuleSetError:
    try:
        return RuleSet.from_dict(data)
    except RuleSetError as error:
        return error


def _compiles_or_is_refused(data: dict[str, Any], seed: int) -> bool:
    """True when the rule set exists; then it reads back, and a hand of it can be played to the end."""
    source = _read(data)
    if isinstance(source, RuleSetError):
        assert source.parameter in PARAMETERS
        assert "\n" not in str(source)
        return False
    assert RuleSet.from_dict(source.to_dict()) == source
    rules = compile_rules(source)
    assert len(rules.deck) == source.pack_size == source.hand_size * source.players + source.kitty_size
    hand = random_hand(rules, random.Random(seed))

    def something_is_legal() -> None:
        assert hand.legal

    play_out(hand, random.Random(seed), something_is_legal)
    assert len(hand.tricks) == source.hand_size
    return True


@settings(max_examples=200)
@given(any_combination, seeds)
def test_any_combination_compiles_or_is_refused(data: dict[str, Any], seed: int) -> None:
    _compiles_or_is_refused(data, seed)


@settings(max_examples=200)
@given(changed_rule_sets(), seeds)
def test_changed_rule_set_compiles_or_is_refused(data: dict[str, Any], seed: int) -> None:
    _compiles_or_is_refused(data, seed)


_anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=300)
@given(st.sampled_from([*PARAMETERS, "hand_size"]), _anything)
def test_any_value_of_a_parameter_is_read_or_refused(name: str, value: Any) -> None:
    source = _read({name: value})
    if isinstance(source, RuleSetError):
        assert source.parameter in {*PARAMETERS, "hand_size"}
    else:
        assert RuleSet.from_dict(source.to_dict()) == source
