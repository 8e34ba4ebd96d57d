"""``RuleSet`` as a message and back. Enum members have the same names on both sides, behind a prefix in the
contract."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, Final

from arbiter.api.game.v1 import rule_set_pb2 as pb
from arbiter.engine import PassDirection, RuleSet, RuleSetError
from arbiter.engine.ruleset import ENUM_PARAMETERS, PIP

_SAME: Final = ("players", "decks", "pass_count", "must_break_hearts", "qs_breaks_hearts", "cancellation")
_SAME_TOTALS: Final = ("start", "sign", "target")
_SPADES: Final = {"QS": "queen_of_spades", "KS": "king_of_spades", "AS": "ace_of_spades"}


def direction_to_number(direction: PassDirection) -> int:
    """The contract's number of a pass direction."""
    return _NUMBERS[direction]


def direction_from_number(number: int) -> PassDirection:
    """The pass direction with this number in the contract."""
    return _DIRECTIONS[number]


def rules_to_message(rules: RuleSet) -> pb.RuleSet:
    """The rule set as a message."""
    message = pb.RuleSet(
        removed=rules.removed,
        hearts_at_pip_value=rules.heart_value == PIP,
        heart_value=rules.heart_value if isinstance(rules.heart_value, int) else 0,
        card_values=[pb.CardPoints(card=card, points=points) for card, points in rules.card_values.items()],
        bonus=[pb.CardPoints(card=card, points=points) for card, points in rules.bonus.items()],
        teams=[pb.Team(seats=team) for team in rules.teams or ()],
    )
    message.pass_cycle.extend(pb.PassDirection.ValueType(_NUMBERS[direction]) for direction in rules.pass_cycle)
    for name in (*_SAME, *_SAME_TOTALS):
        setattr(message, name, getattr(rules, name))
    for name, field in _SPADES.items():
        setattr(message, field, getattr(rules, name))
    for name, enum in ENUM_PARAMETERS.items():
        value = getattr(rules, name)
        setattr(message, name, 0 if value is None else _number(enum, value))
    return message


def rules_from_message(message: pb.RuleSet) -> RuleSet:
    """The rule set that a message holds.

    Raises:
        RuleSetError: the message holds no possible rule set.
    """
    data: dict[str, Any] = {name: getattr(message, name) for name in (*_SAME, *_SAME_TOTALS)}
    data |= {name: getattr(message, field) for name, field in _SPADES.items()}
    data |= {name: _value(name, enum, getattr(message, name)) for name, enum in ENUM_PARAMETERS.items()}
    data["removed"] = list(message.removed)
    data["pass_cycle"] = [_value("pass_cycle", PassDirection, number) for number in message.pass_cycle]
    data["heart_value"] = PIP if message.hearts_at_pip_value else message.heart_value
    data["card_values"] = _points("card_values", message.card_values)
    data["bonus"] = _points("bonus", message.bonus)
    data["teams"] = [list(team.seats) for team in message.teams] or None
    return RuleSet.from_dict(data)


def _prefix(enum: type[StrEnum]) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", enum.__name__).upper() + "_"


def _wrapper(enum: type[StrEnum]) -> Any:
    return getattr(pb, enum.__name__)


def _number(enum: type[StrEnum], member: StrEnum) -> int:
    return int(_wrapper(enum).Value(_prefix(enum) + member.name))


def _value(parameter: str, enum: type[StrEnum], number: int) -> str | None:
    """The parameter's value; None for 0, which stands for no value."""
    names: Mapping[int, str] = {value: name for name, value in _wrapper(enum).items()}
    if number not in names:
        known = f"1 to {max(names)}"
        raise RuleSetError(parameter, f"has the number {number}, which this version does not know; it knows {known}")
    return enum[names[number].removeprefix(_prefix(enum))].value if number else None


def _points(parameter: str, items: Iterable[pb.CardPoints]) -> dict[str, int]:
    points: dict[str, int] = {}
    for item in items:
        if item.card in points:
            raise RuleSetError(parameter, f"names {item.card} twice")
        points[item.card] = item.points
    return points


_NUMBERS: Final = {direction: _number(PassDirection, direction) for direction in PassDirection}
_DIRECTIONS: Final = {number: direction for direction, number in _NUMBERS.items()}
