"""Rule sets over the wire: they come back equal, and what this version does not know is refused by name."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import StrEnum

import pytest

from arbiter.api.game.v1 import rule_set_pb2 as pb
from arbiter.engine import OPTIONS, RULE_SETS, PassDirection, RuleSet, RuleSetError, rule_set
from arbiter.engine.ruleset import ENUM_PARAMETERS
from arbiter.wire import rules_from_message, rules_to_message
from arbiter.wire.rule_set import direction_from_number, direction_to_number

VARIANTS = [(name, ()) for name in RULE_SETS] + [(name, (option,)) for name in OPTIONS for option in OPTIONS[name]]


@pytest.mark.parametrize(("name", "options"), VARIANTS)
def test_a_rule_set_comes_back_from_its_bytes(name: str, options: tuple[str, ...]) -> None:
    rules = rule_set(name, options)
    data = rules_to_message(rules).SerializeToString()
    assert rules_from_message(pb.RuleSet.FromString(data)) == rules


def test_every_member_of_every_enum_comes_back() -> None:
    enums: dict[str, type[StrEnum]] = {**ENUM_PARAMETERS, "pass_cycle": PassDirection}
    for parameter, enum in enums.items():
        wrapper = getattr(pb, enum.__name__)
        assert len(wrapper.keys()) == len(enum) + 1, "the contract knows the same members, and 0 for none"
        assert parameter in RuleSet.__dataclass_fields__
    for direction in PassDirection:
        assert direction_from_number(direction_to_number(direction)) is direction


def with_unknown_direction(message: pb.RuleSet) -> None:
    message.pass_cycle[1] = 77  # type: ignore[call-overload]  # a number of a later version


def with_card_twice(message: pb.RuleSet) -> None:
    message.bonus.extend([pb.CardPoints(card="JD", points=-10), pb.CardPoints(card="JD", points=5)])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            with_unknown_direction,
            "rule set parameter 'pass_cycle': has the number 77, which this version does not know",
        ),
        (with_card_twice, "rule set parameter 'bonus': names JD twice"),
        (lambda message: message.ClearField("moon"), "rule set parameter 'moon': is None; allowed: none, old, new"),
        (lambda message: setattr(message, "players", 0), "rule set parameter 'players'"),
        (lambda message: message.removed.append("1X"), "'1X' is no card"),
    ],
)
def test_what_is_no_rule_set_is_refused(change: Callable[[pb.RuleSet], object], message: str) -> None:
    wire = rules_to_message(rule_set("black_lady"))
    change(wire)
    with pytest.raises(RuleSetError, match=re.escape(message)):
        rules_from_message(wire)


@pytest.mark.parametrize("parameter", ENUM_PARAMETERS)
def test_an_unknown_number_is_refused_and_never_read_as_nothing(parameter: str) -> None:
    wire = rules_to_message(rule_set("black_lady"))
    setattr(wire, parameter, 99)
    with pytest.raises(RuleSetError, match=f"'{parameter}': has the number 99, which this version does not know"):
        rules_from_message(wire)


def test_an_empty_message_is_refused() -> None:
    with pytest.raises(RuleSetError):
        rules_from_message(pb.RuleSet())
