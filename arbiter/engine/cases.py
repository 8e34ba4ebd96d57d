"""Worked cases of the rules, run against the engine (RULES.md, section 8: kinds, states and expected answers).

A case is plain data, as in a JSON file: ``id``, ``kind``, ``ruleset`` with ``options`` and ``override``, a ``state``,
the ``expected`` answer and the ``reason`` for it. A case without ``ruleset``, or of the rule set ``custom``, is one of
the rule set that its reader brings along.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from arbiter.engine.cards import CARDS, PLANE_MASK, Card, cards_of, mask_of, parse_cards
from arbiter.engine.catalog import changed, rule_set
from arbiter.engine.claims import is_settled
from arbiter.engine.errors import EngineError, IllegalPass
from arbiter.engine.game import GameState, after_hand, best_seats, moon_choice, next_deal, still_tied
from arbiter.engine.hand import Trick, new_hand
from arbiter.engine.passing import check_pass, exchange, pass_direction
from arbiter.engine.rules import Rules, compile_rules, legal_cards
from arbiter.engine.ruleset import Moon, PassDirection, RuleSet, Tie
from arbiter.engine.scoring import HandScore, score_hand

_Data = Mapping[str, Any]

CUSTOM: Final = "custom"
"""How a case names the rule set that its reader brings along."""


class CaseError(EngineError):
    """A case that can't be run: an unknown kind, a missing part, or a state that can't be on a table."""


@dataclass(frozen=True, slots=True)
class CaseResult:
    """What the engine answered to one case."""

    id: str
    expected: dict[str, Any]
    actual: dict[str, Any]
    """The engine's answer, with the keys that were expected."""
    passed: bool
    reason: str
    """Why the expected answer is right, in the case's own words."""


def run_case(case: Mapping[str, Any], custom: RuleSet | None = None) -> CaseResult:
    """Run one case; ``custom`` is the rule set of cases that name none.

    Where the order of a list means nothing (legal cards, hands, winners) none is asked of it.

    Raises:
        CaseError: the case is not one of section 8, or names an impossible rule set.
    """
    name = str(case.get("id", "without id"))
    missing = [part for part in ("kind", "state", "expected") if part not in case]
    if missing:
        raise CaseError(f"case {name}: has no {missing[0]!r}")
    options, override = case.get("options") or [], case.get("override") or {}
    for part, value in (("state", case["state"]), ("expected", case["expected"]), ("override", override)):
        if not isinstance(value, Mapping):
            raise CaseError(f"case {name}: its {part} is {value!r}; write a table")
    if not isinstance(options, list):
        raise CaseError(f"case {name}: its options are {options!r}; write a list")
    kind, state, expected = case["kind"], case["state"], dict(case["expected"])
    if kind not in _KINDS:
        raise CaseError(f"case {name}: there is no kind {kind!r}; there are: {', '.join(_KINDS)}")
    answer, parts = _KINDS[kind]
    missing = [part for part in parts if part not in state]
    if missing:
        raise CaseError(f"case {name}: the state of a {kind} case needs {missing[0]!r}")
    try:
        full = answer(compile_rules(_rule_set(case, custom)), state)
    except EngineError as error:
        raise CaseError(f"case {name}: {error}") from error
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise CaseError(f"case {name}: its state is none of kind {kind} (RULES.md, section 8): {error}") from error
    unknown = [key for key in expected if key not in full]
    if unknown:
        raise CaseError(f"case {name}: a {kind} case can't expect {unknown[0]!r}; it can: {', '.join(full)}")
    actual = {key: full[key] for key in expected}
    return CaseResult(name, expected, actual, _unordered(actual) == _unordered(expected), str(case.get("reason", "")))


def _rule_set(case: _Data, custom: RuleSet | None) -> RuleSet:
    override = dict(case.get("override") or {})
    if case["kind"] == "deal":
        override["players"] = case["state"]["players"]
    name, options = case.get("ruleset", CUSTOM), case.get("options") or ()
    if name != CUSTOM:
        return rule_set(name, options, override)
    if custom is None:
        raise CaseError("names no rule set, and no custom one is given")
    if options:
        raise CaseError(f"asks for option {options[0]!r}, which named rule sets alone have; write an override")
    return changed(custom, override)


def _unordered(answer: _Data) -> dict[str, Any]:
    """The answer with every list sorted whose order means nothing."""
    plain = dict(answer)
    for key in ("legal", "winners", "still_tied"):
        if isinstance(plain.get(key), list):
            plain[key] = sorted(plain[key], key=str)
    if isinstance(plain.get("hands"), list):
        plain["hands"] = [Counter(hand) for hand in plain["hands"]]
    return plain


def _indexes(names: Sequence[str]) -> list[int]:
    return [card.index for card in parse_cards(names)]


def _mask(names: Sequence[str]) -> int:
    return mask_of(_indexes(names))


def _names(mask: int) -> list[str]:
    return [str(card) for card in cards_of(mask)]


def _past(count: int) -> list[Trick]:
    """Finished tricks of which a case tells nothing but how many there were."""
    return [Trick(leader=0, cards=(), winner=0, points=0)] * count


def _legal(rules: Rules, state: _Data) -> dict[str, Any]:
    table = _indexes(state["trick"])
    led = table[0] if table else None
    mask = legal_cards(rules, _mask(state["hand"]) & PLANE_MASK, led, state["trick_no"] == 1, state["hearts_broken"])
    return {"legal": _names(mask)}


def _break(rules: Rules, state: _Data) -> dict[str, Any]:
    card = Card.parse(state["card"])
    return {"hearts_broken": state["hearts_broken"] or bool(rules.breakers & card.mask)}


def _first_leader(rules: Rules, state: _Data) -> dict[str, Any]:
    direction = PassDirection(state["pass_dir"])
    hands = [_mask(hand) for hand in state["hands"]]
    hand = new_hand(rules, hands, dealer=state["dealer"] or 0, direction=direction)
    if direction is not PassDirection.NONE:
        hand.exchange([_indexes(cards) for cards in state["passes"]])
    forced = _names(rules.opening_card)
    return {"leader": hand.leader, "forced_card": forced[0] if forced else None}


def _pass_cycle(rules: Rules, state: _Data) -> dict[str, Any]:
    return {"directions": [pass_direction(rules.source, number).value for number in range(1, state["hands"] + 1)]}


def _pass_check(rules: Rules, state: _Data) -> dict[str, Any]:
    try:
        check_pass(rules, _mask(state["hand"]), _indexes(state["cards"]))
    except IllegalPass as error:
        return {"valid": False, "error": error.code}
    return {"valid": True, "error": None}


def _pass(rules: Rules, state: _Data) -> dict[str, Any]:
    hands = [_mask(hand) for hand in state["hands"]]
    passes = [_indexes(cards) for cards in state["passes"]]
    after = exchange(rules, hands, PassDirection(state["pass_dir"]), passes)
    return {"hands": [_names(hand) for hand in after]}


def _trick(rules: Rules, state: _Data) -> dict[str, Any]:
    """The trick played in a hand that holds its cards and, unless it is the last, one more a seat that can't follow."""
    leader = state["plays"][0][0]
    seats = [(leader + position) % rules.seats for position in range(rules.seats)]
    if [seat for seat, _ in state["plays"]] != seats:
        raise CaseError(f"the trick's seats must be {seats}: all of them, clockwise from its leader")
    cards = _indexes([card for _, card in state["plays"]])
    spare = next(card.index for card in CARDS if card.index not in cards and card.suit != CARDS[cards[0]].suit)
    hands = [0] * rules.seats
    for seat, card in zip(seats, cards, strict=True):
        hands[seat] = mask_of([card] if state["last"] else [card, spare])
    before = Trick(leader, tuple(_indexes(state["carried"])), winner=None, points=0)
    hand = new_hand(rules, hands, dealer=0, kitty=_mask(state["kitty"]), leader=leader, tricks=[before], broken=True)
    for card in cards:
        hand.play(card)
    trick = hand.tricks[-1]
    points = hand.pending_penalty + hand.pending_bonus if trick.winner is None else trick.points
    return {"winner": trick.winner, "next_leader": hand.leader, "points": points}


def _taken(rules: Rules, captured: Sequence[Sequence[str]]) -> tuple[list[int], list[int]]:
    """By seat: positive and negative points of the captured cards."""
    cards = [_indexes(names) for names in captured]
    return (
        [sum(rules.penalty[index] for index in taken) for taken in cards],
        [sum(rules.bonus[index] for index in taken) for taken in cards],
    )


def _hand_score(rules: Rules, state: _Data) -> dict[str, Any]:
    picks = rules.source.moon in (Moon.CHOICE, Moon.MIXED) and state["choice"] is not None
    score = score_hand(
        rules,
        *_taken(rules, state["captured"]),
        offenders=state["revokers"],
        moon=Moon(state["choice"]) if picks else None,
    )
    return {"delta": list(score.points), "moon": score.moon}


def _match(rules: Rules, state: _Data) -> dict[str, Any]:
    before = _game(rules, state)
    offered = False
    if state["captured"] is None:
        score = HandScore(tuple(state["delta"]), None)
    else:
        taken = _taken(rules, state["captured"])
        choice = moon_choice(rules, before, *taken)
        offered = choice is not None
        moon = None if choice is None else Moon(state["choice"] or choice.default)
        score = score_hand(rules, *taken, moon=moon)
    after = after_hand(rules, before, score)
    return {
        "totals": list(after.totals),
        "over": after.over,
        "winners": None if after.winners is None else list(after.winners),
        "overtime": after.overtime,
        "choice_offered": offered,
        "moon": score.moon,
        "delta": [rules.source.sign * points for points in score.points],
    }


def _game(rules: Rules, state: _Data) -> GameState:
    """The game before the hand; in overtime the best sides are those that extra hands are between."""
    totals = tuple(state["totals"])
    extra = state["overtime"] and rules.source.tie is Tie.EXTRA_HAND_BETWEEN_TIED
    return GameState(
        totals,
        hand_number=state["hand_no"] or 1,
        overtime=state["overtime"],
        tied=best_seats(rules, totals) if extra else (),
    )


def _tiebreak(rules: Rules, state: _Data) -> dict[str, Any]:
    return {"still_tied": list(still_tied(rules, state["tied"], state["delta"]))}


def _deal(rules: Rules, state: _Data) -> dict[str, Any]:
    return {"hand_size": rules.source.hand_size, "left_over": rules.source.kitty_size}


def _misdeal(rules: Rules, state: _Data) -> dict[str, Any]:
    """Whatever stops a hand from being played as dealt voids it."""
    void = state["event"] != "hand_played"
    deal = next_deal(rules.source, state["hand_no"], state["dealer"], misdealt=void)
    return {"void": void, "dealer": deal.dealer, "hand_no": deal.hand_number}


def _redeal_cycle(rules: Rules, state: _Data) -> dict[str, Any]:
    deal = next_deal(rules.source, state["hand_no"], 0, misdealt=state["misdealt"])
    return {"hand_no": deal.hand_number, "direction": deal.direction.value}


def _claim(rules: Rules, state: _Data) -> dict[str, Any]:
    hand = new_hand(
        rules,
        [_mask(cards) for cards in state["hands"]],
        dealer=0,
        leader=state["leader"],
        tricks=_past(state["trick_no"] - 1),
        broken=state["hearts_broken"],
    )
    return {"accept": is_settled(hand)}


_KINDS: Final[dict[str, tuple[Callable[[Rules, _Data], dict[str, Any]], tuple[str, ...]]]] = {
    "legal": (_legal, ("hand", "trick", "trick_no", "hearts_broken")),
    "break": (_break, ("hearts_broken", "card")),
    "first_leader": (_first_leader, ("hands", "pass_dir", "passes", "dealer")),
    "pass_cycle": (_pass_cycle, ("hands",)),
    "pass_check": (_pass_check, ("hand", "cards")),
    "pass": (_pass, ("hands", "pass_dir", "passes")),
    "trick": (_trick, ("plays", "carried", "kitty", "last")),
    "hand_score": (_hand_score, ("captured", "choice", "revokers")),
    "match": (_match, ("totals", "captured", "delta", "choice", "overtime", "hand_no")),
    "tiebreak": (_tiebreak, ("tied", "delta")),
    "deal": (_deal, ("players",)),
    "misdeal": (_misdeal, ("dealer", "event", "hand_no")),
    "redeal_cycle": (_redeal_cycle, ("hand_no", "misdealt")),
    "claim": (_claim, ("hands", "leader", "hearts_broken", "trick_no", "captured")),
}
"""By kind: how the engine answers it, and what its state must have."""
