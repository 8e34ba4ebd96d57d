"""What makes a rule set impossible: values out of range and pairs that contradict (RULES.md, section 7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arbiter.engine.cards import Card
from arbiter.engine.errors import CardSyntaxError, RuleSetError
from arbiter.engine.ruleset import PIP, FirstLead, FirstLeader, GameEnd, Leftover, PassDirection

if TYPE_CHECKING:
    from arbiter.engine.ruleset import RuleSet


def check(rules: RuleSet) -> None:
    """Raise :class:`RuleSetError` that names the parameter and the reason, or return."""
    _check_pack(rules)
    _check_pass(rules)
    _check_lead(rules)
    _check_points(rules)
    _check_game(rules)


def _check_pack(rules: RuleSet) -> None:
    if rules.decks not in (1, 2):
        raise RuleSetError("decks", f"is {rules.decks}; allowed: 1 or 2")
    low, high = (3, 4) if rules.decks == 1 else (4, 11)
    if not low <= rules.players <= high:
        packs = "one pack seats" if rules.decks == 1 else "two packs seat"
        raise RuleSetError("players", f"is {rules.players}; {packs} {low} to {high}")
    for name in rules.removed:
        _known_card("removed", name)
    if len(set(rules.removed)) != len(rules.removed):
        raise RuleSetError("removed", "names a card twice")
    if rules.hand_size < 1:
        raise RuleSetError("removed", "leaves no card to deal")
    if rules.kitty_size and rules.leftover is Leftover.NONE:
        raise RuleSetError(
            "leftover",
            f"is none but {rules.pack_size} cards do not divide by {rules.players}: remove {rules.kitty_size}"
            " or take kitty_to_first_trick",
        )
    if rules.cancellation and rules.decks != 2:
        raise RuleSetError("cancellation", "needs two packs (decks = 2)")
    if rules.cancellation and (rules.all_cancelled is None or rules.last_all_cancelled is None):
        missing = "all_cancelled" if rules.all_cancelled is None else "last_all_cancelled"
        raise RuleSetError(missing, "is null but cancellation is on")


def _check_pass(rules: RuleSet) -> None:
    if not rules.pass_cycle:
        raise RuleSetError("pass_cycle", "is empty; write at least none")
    if PassDirection.ACROSS in rules.pass_cycle and rules.players % 2:
        raise RuleSetError("pass_cycle", f"has across, but {rules.players} seats have no seat opposite")
    if not 0 <= rules.pass_count <= rules.hand_size:
        raise RuleSetError("pass_count", f"is {rules.pass_count}; a hand has {rules.hand_size} cards")
    never = all(direction is PassDirection.NONE for direction in rules.pass_cycle)
    if never and rules.pass_count:
        raise RuleSetError("pass_count", f"is {rules.pass_count} but pass_cycle never passes; write 0")
    if not never and not rules.pass_count:
        raise RuleSetError("pass_count", "is 0 but pass_cycle passes; write a cycle of none")


def _check_lead(rules: RuleSet) -> None:
    if rules.first_leader is FirstLeader.HOLDER_2C and rules.decks != 1:
        raise RuleSetError("first_leader", "is holder_2C, but two packs hold two of them")
    if rules.first_leader is FirstLeader.HOLDER_2C and "2C" in rules.removed:
        raise RuleSetError("first_leader", "is holder_2C, but 2C is removed")
    if rules.first_leader is FirstLeader.HOLDER_2C and rules.kitty_size:
        raise RuleSetError("first_leader", "is holder_2C, but 2C may lie in the kitty")
    if rules.first_lead is FirstLead.TWO_OF_CLUBS and rules.first_leader is not FirstLeader.HOLDER_2C:
        raise RuleSetError("first_lead", "is 2C, but first_leader is not its holder (holder_2C)")


def _check_points(rules: RuleSet) -> None:
    if rules.heart_value != PIP and (isinstance(rules.heart_value, str) or rules.heart_value < 0):
        raise RuleSetError("heart_value", f"is {rules.heart_value!r}; write a number of at least 0 or {PIP!r}")
    for name in ("QS", "KS", "AS"):
        if getattr(rules, name) < 0:
            raise RuleSetError(name, f"is {getattr(rules, name)}; negative points belong under bonus")
        if getattr(rules, name) and name in rules.removed and name not in rules.card_values:
            raise RuleSetError(name, f"is worth {getattr(rules, name)} points but is removed from the pack")
    for parameter, table in (("card_values", rules.card_values), ("bonus", rules.bonus)):
        for card, points in table.items():
            _known_card(parameter, card)
            if card in rules.removed:
                raise RuleSetError(parameter, f"names {card}, which is removed from the pack")
            if parameter == "card_values" and points < 0:
                raise RuleSetError(parameter, f"gives {card} {points}; negative points belong under bonus")
            if parameter == "bonus" and points >= 0:
                raise RuleSetError(parameter, f"gives {card} {points}; a bonus is negative")
    worth = [card for card in rules.bonus if _positive(rules, card)]
    if worth:
        raise RuleSetError("bonus", f"names {worth[0]}, which has positive points already")


def _check_game(rules: RuleSet) -> None:
    if rules.sign not in (1, -1):
        raise RuleSetError("sign", f"is {rules.sign}; allowed: 1 or -1")
    if rules.end is GameEnd.HANDS and rules.target < 1:
        raise RuleSetError("target", f"is {rules.target}; a game has at least one hand")
    if rules.end is GameEnd.ANY_AT_LEAST and rules.start >= rules.target:
        raise RuleSetError("target", f"is {rules.target}, which the start {rules.start} has already reached")
    if rules.end is GameEnd.ANY_AT_MOST and rules.start <= rules.target:
        raise RuleSetError("target", f"is {rules.target}, which the start {rules.start} has already reached")
    if rules.end is not GameEnd.HANDS and (rules.end is GameEnd.ANY_AT_LEAST) != (rules.sign == 1):
        raise RuleSetError("sign", f"is {rules.sign}, which moves totals away from the target ({rules.end})")
    if rules.score_floor is not None:
        raise RuleSetError("score_floor", f"is {rules.score_floor!r}; the only value today is null")
    _check_teams(rules)


def _check_teams(rules: RuleSet) -> None:
    if rules.teams is None:
        if rules.moon_partner is not None:
            raise RuleSetError("moon_partner", f"is {rules.moon_partner}, but there are no teams")
        return
    if sorted(seat for team in rules.teams for seat in team) != list(range(rules.players)):
        raise RuleSetError("teams", f"must name each seat from 0 to {rules.players - 1} once")
    if len({len(team) for team in rules.teams}) != 1:
        raise RuleSetError("teams", "are of unequal size")
    if len(rules.teams) < 2:
        raise RuleSetError("teams", "has one team; a game needs two")
    if rules.moon_partner is None:
        raise RuleSetError("moon_partner", "is null, but teams need spared or charged")


def _positive(rules: RuleSet, name: str) -> bool:
    """Does the card have positive points before any bonus?"""
    if name in rules.card_values:
        return rules.card_values[name] > 0
    if name in ("QS", "KS", "AS"):
        return bool(getattr(rules, name) > 0)
    return name.endswith("H") and rules.heart_value != 0


def _known_card(parameter: str, name: str) -> None:
    """Refuse what names no card, and any spelling but the one that cards are compared by."""
    try:
        card = str(Card.parse(name))
    except CardSyntaxError as error:
        raise RuleSetError(parameter, str(error)) from None
    if card != name:
        raise RuleSetError(parameter, f"names {name!r}; write {card}")
