"""The named rule sets and their options, one declarative definition each.

Each entry says only what differs from Black Lady, whose parameters are :class:`RuleSet`'s defaults. The whole table is
compared with ``docs/rules/rulesets.json`` in the tests.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any, Final

from arbiter.engine.errors import RuleSetError
from arbiter.engine.ruleset import RuleSet

_NO_PASS: Final[Mapping[str, Any]] = {"pass_cycle": ["none"], "pass_count": 0}

_NO_LIMITS: Final[Mapping[str, Any]] = {
    "first_leader": "left_of_dealer",
    "first_lead": "any",
    "first_trick_ban": "none",
    "must_break_hearts": False,
}

_BLACK_MARIA: Final[Mapping[str, Any]] = {**_NO_LIMITS, "pass_cycle": ["right"], "KS": 10, "AS": 7}

_CANCELLING: Final[Mapping[str, Any]] = {
    **_NO_PASS,
    "decks": 2,
    "cancellation": True,
    "all_cancelled": "carry_same_leader",
    "last_all_cancelled": "to_trick_leader",
    "first_leader": "left_of_dealer",
    "first_lead": "any",
    "first_trick_ban": "none",
}

_DEFINITIONS: Final[Mapping[str, Mapping[str, Any]]] = {
    "black_lady": {},
    "black_lady_new_moon": {"moon": "new"},
    "black_lady_mixed_moon": {"moon": "mixed"},
    "bga": {
        "pass_cycle": ["left", "across", "right", "none"],
        "start": 100,
        "sign": -1,
        "end": "any_at_most",
        "target": 0,
        "winner": "highest",
        "tie": "shared",
    },
    "hartenjagen": {"tie": "extra_hand_between_tied", "revoke": "offender_takes_all"},
    "original_1880": {
        **_NO_PASS,
        **_NO_LIMITS,
        "QS": 0,
        "moon": "none",
        "target": 50,
        "tie": "shared",
        "revoke": "offender_takes_all",
    },
    "black_maria_4": _BLACK_MARIA,
    "black_maria_3": {**_BLACK_MARIA, "players": 3, "removed": ["2C"]},
    "spot": {"heart_value": "pip", "QS": 25, "target": 500},
    "partnership": {"moon_partner": "spared", "teams": [[0, 2], [1, 3]]},
    "reverse": {"moon": "none", "winner": "highest"},
    "omnibus": {"bonus": {"JD": -10}},
    "cancellation": {**_CANCELLING, "players": 6, "leftover": "kitty_to_first_trick"},
}

RULE_SETS: Final[Mapping[str, RuleSet]] = {name: RuleSet.from_dict(data) for name, data in _DEFINITIONS.items()}
"""The named rule sets."""

_AS_PRINTED: Final[Mapping[str, Any]] = {"KS": 0, "AS": 3, "card_values": {"KC": 10}}

OPTIONS: Final[Mapping[str, Mapping[str, Mapping[str, Any]]]] = {
    "black_lady": {
        "new_moon": {"moon": "new"},
        "mixed_moon": {"moon": "mixed"},
        "choice_moon": {"moon": "choice"},
        "queen_restricted": {"qs_may_lead": "when_broken"},
    },
    "bga": {"start75": {"start": 75}, "qs_breaks": {"qs_breaks_hearts": True}},
    "hartenjagen": {
        "omnibus": {"bonus": {"JD": -10}},
        "no_pass": _NO_PASS,
        "black_maria_scoring": {"KS": 10, "AS": 7},
        "cancellation": _CANCELLING,
    },
    "original_1880": {"fixed_hands": {"end": "hands", "target": 12}},
    "partnership": {"new_moon": {"moon": "new"}, "partner_charged": {"moon_partner": "charged"}},
    "reverse": {"moon_new": {"moon": "new"}, "moon_old": {"moon": "old"}},
    "black_maria_4": {"as_printed": _AS_PRINTED},
    "black_maria_3": {"as_printed": _AS_PRINTED},
}
"""What each named rule set's options change."""


def rule_set(name: str, options: Iterable[str] = (), override: Mapping[str, Any] | None = None) -> RuleSet:
    """The named rule set with options, then single parameters, laid over it in the order given.

    Raises:
        RuleSetError: an unknown name, option or parameter, or a combination that contradicts.
    """
    if name not in RULE_SETS:
        raise RuleSetError(
            "rules", f"there is no rule set {name!r}{_near(name, RULE_SETS)}; there are: {_list(RULE_SETS)}"
        )
    known = OPTIONS.get(name, {})
    changes: dict[str, Any] = {}
    for option in options:
        if option not in known:
            there = _list(known) or "none"
            raise RuleSetError("options", f"{name} has no option {option!r}{_near(option, known)}; there are: {there}")
        changes.update(known[option])
    return changed(RULE_SETS[name], {**changes, **(override or {})})


def changed(rules: RuleSet, parameters: Mapping[str, Any]) -> RuleSet:
    """The rule set with other values of these parameters.

    Raises:
        RuleSetError: an unknown parameter, or a combination that contradicts.
    """
    data = rules.to_dict()
    if "hand_size" not in parameters:
        del data["hand_size"]
    return RuleSet.from_dict({**data, **parameters})


def _near(word: str, words: Iterable[str]) -> str:
    near = difflib.get_close_matches(word, list(words), n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""


def _list(words: Iterable[str]) -> str:
    return ", ".join(words)
