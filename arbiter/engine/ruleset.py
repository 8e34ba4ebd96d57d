"""A rule set: every parameter of the game as data, checked as a whole.

Parameter names, allowed values and meanings are those of ``docs/rules/RULES.md`` (sections 2, 3 and 7). A
:class:`RuleSet` that exists is playable: contradictions are refused when it is made. The named ones are in
:mod:`arbiter.engine.catalog`; what the play loop needs is compiled once in :mod:`arbiter.engine.rules`.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from enum import StrEnum
from typing import Any, Final

from arbiter.engine.cards import Card
from arbiter.engine.errors import CardSyntaxError, RuleSetError


class PassDirection(StrEnum):
    """Where a hand's passed cards go; seats count clockwise."""

    LEFT = "left"
    """To seat + 1."""
    RIGHT = "right"
    """To seat - 1."""
    ACROSS = "across"
    """To the seat opposite; even numbers of seats only."""
    NONE = "none"
    """No pass in this hand."""


class Leftover(StrEnum):
    """What becomes of cards that do not divide."""

    NONE = "none"
    """The pack divides evenly."""
    KITTY_TO_FIRST_TRICK = "kitty_to_first_trick"
    """They lie face down and go to the winner of the first trick that is won."""


class FirstLeader(StrEnum):
    """Who leads to the first trick."""

    HOLDER_2C = "holder_2C"
    LEFT_OF_DEALER = "left_of_dealer"


class FirstLead(StrEnum):
    """What is led to the first trick."""

    TWO_OF_CLUBS = "2C"
    ANY = "any"


class FirstTrickBan(StrEnum):
    """What a void player may not discard on the first trick."""

    NONE = "none"
    PENALTY_CARDS = "penalty_cards"
    """Any card with positive points."""


class FirstTrickException(StrEnum):
    """What a hand of nothing but banned cards may play on the first trick."""

    ANY_CARD_IF_ONLY_PENALTY = "any_card_if_only_penalty"


class LeadIfOnlyHearts(StrEnum):
    """May a hand of hearts alone lead them unbroken?"""

    ALLOWED = "allowed"


class LeadIfOnlyPenalty(StrEnum):
    """What a hand of hearts and the queen of spades leads while hearts are unbroken."""

    NON_HEART = "non_heart"
    """The queen."""
    FREE = "free"
    """Any of its cards."""


class QueenLead(StrEnum):
    """When the queen of spades may be led."""

    ALWAYS = "always"
    WHEN_BROKEN = "when_broken"
    """Restricted like a heart."""


class AllCancelled(StrEnum):
    """A trick whose led-suit cards all cancelled."""

    CARRY_SAME_LEADER = "carry_same_leader"
    """Nobody wins it; its leader leads again and the next winner takes all."""


class LastAllCancelled(StrEnum):
    """The same in the last trick."""

    TO_TRICK_LEADER = "to_trick_leader"


class Moon(StrEnum):
    """What happens when one seat takes every positive card."""

    NONE = "none"
    """Nothing."""
    OLD = "old"
    """Shooter 0, each other seat + the total."""
    NEW = "new"
    """Shooter - the total, others 0."""
    CHOICE = "choice"
    """The shooter picks old or new."""
    MIXED = "mixed"
    """Old, unless that would end the game with the shooter not among its winners: then the shooter may take new."""


class MoonNeeds(StrEnum):
    """Which cards shoot the moon."""

    ALL_POSITIVE_CARDS = "all_positive_cards"


class MoonValue(StrEnum):
    """What a moon is worth."""

    SUM_OF_POSITIVE = "sum_of_positive"


class MoonBonus(StrEnum):
    """How bonus cards and a moon go together."""

    INDEPENDENT = "independent"
    """Bonus cards are paid to whoever took them, moon or not."""


class MoonPartner(StrEnum):
    """What an old moon costs the shooter's partner."""

    SPARED = "spared"
    CHARGED = "charged"


class MoonUnit(StrEnum):
    """Who shoots a moon."""

    PLAYER = "player"


class GameEnd(StrEnum):
    """When a game is over, tested after each hand."""

    ANY_AT_LEAST = "any_at_least"
    """Some seat's total is at least the target."""
    ANY_AT_MOST = "any_at_most"
    """Some seat's total is at most the target."""
    HANDS = "hands"
    """The target number of hands was played."""


class Winner(StrEnum):
    """Which total wins."""

    LOWEST = "lowest"
    HIGHEST = "highest"


class Tie(StrEnum):
    """A game that ended with several best sides."""

    CONTINUE = "continue"
    """Whole hands go on until the best total is unique."""
    SHARED = "shared"
    """All of them win."""
    EXTRA_HAND_BETWEEN_TIED = "extra_hand_between_tied"
    """Further hands in which only the tied seats' scores of that hand count, until one is best."""


class Revoke(StrEnum):
    """Failing to follow suit though able."""

    REJECT_MOVE = "reject_move"
    OFFENDER_TAKES_ALL = "offender_takes_all"
    """The hand ends at once; the offender scores its whole positive total, all others 0."""


class Misdeal(StrEnum):
    """A hand dealt wrongly."""

    REDEAL_SAME_DEALER = "redeal_same_dealer"


class Claim(StrEnum):
    """Claims of the remaining tricks."""

    NONE = "none"


PIP: Final = "pip"
"""``heart_value`` at face value: 2 to 10, jack 11, queen 12, king 13, ace 14."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSet:
    """All parameters of one game; the defaults are Black Lady's. See ``docs/rules/RULES.md`` for each.

    Cards are given by name (``"QS"``). Points are ints, positive for penalties. Raises :class:`RuleSetError` on a value
    outside section 7 of the rules or a pair that contradicts.
    """

    players: int = 4
    decks: int = 1
    removed: tuple[str, ...] = ()
    leftover: Leftover = Leftover.NONE
    pass_cycle: tuple[PassDirection, ...] = (
        PassDirection.LEFT,
        PassDirection.RIGHT,
        PassDirection.ACROSS,
        PassDirection.NONE,
    )
    pass_count: int = 3
    first_leader: FirstLeader = FirstLeader.HOLDER_2C
    first_lead: FirstLead = FirstLead.TWO_OF_CLUBS
    first_trick_ban: FirstTrickBan = FirstTrickBan.PENALTY_CARDS
    first_trick_exception: FirstTrickException = FirstTrickException.ANY_CARD_IF_ONLY_PENALTY
    must_break_hearts: bool = True
    qs_breaks_hearts: bool = False
    lead_if_only_hearts: LeadIfOnlyHearts = LeadIfOnlyHearts.ALLOWED
    lead_if_only_penalty: LeadIfOnlyPenalty = LeadIfOnlyPenalty.NON_HEART
    qs_may_lead: QueenLead = QueenLead.ALWAYS
    cancellation: bool = False
    all_cancelled: AllCancelled | None = None
    last_all_cancelled: LastAllCancelled | None = None
    heart_value: int | str = 1
    QS: int = 13
    KS: int = 0
    AS: int = 0
    card_values: Mapping[str, int] = field(default_factory=dict)
    bonus: Mapping[str, int] = field(default_factory=dict)
    moon: Moon = Moon.OLD
    moon_needs: MoonNeeds = MoonNeeds.ALL_POSITIVE_CARDS
    moon_value: MoonValue = MoonValue.SUM_OF_POSITIVE
    moon_bonus: MoonBonus = MoonBonus.INDEPENDENT
    moon_partner: MoonPartner | None = None
    moon_unit: MoonUnit = MoonUnit.PLAYER
    start: int = 0
    sign: int = 1
    end: GameEnd = GameEnd.ANY_AT_LEAST
    target: int = 100
    winner: Winner = Winner.LOWEST
    tie: Tie = Tie.CONTINUE
    teams: tuple[tuple[int, ...], ...] | None = None
    score_floor: None = None
    revoke: Revoke = Revoke.REJECT_MOVE
    misdeal: Misdeal = Misdeal.REDEAL_SAME_DEALER
    claim: Claim = Claim.NONE

    def __post_init__(self) -> None:
        from arbiter.engine.validation import check

        check(self)

    def __hash__(self) -> int:
        return hash(tuple(_hashable(getattr(self, f.name)) for f in fields(self)))

    @property
    def pack_size(self) -> int:
        """Cards in play, kitty included."""
        return self.decks * (52 - len(self.removed))

    @property
    def hand_size(self) -> int:
        """Cards dealt to each seat."""
        return self.pack_size // self.players

    @property
    def kitty_size(self) -> int:
        """Cards left over by the deal."""
        return self.pack_size % self.players

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> RuleSet:
        """A rule set from plain data, such as a TOML table or JSON object, with the parameter names of the rules.

        ``hand_size`` is derived; where given it must agree. Parameters left out are Black Lady's.

        Raises:
            RuleSetError: an unknown parameter, a value that is not allowed, or a contradiction.
        """
        given = dict(data)
        hand_size = given.pop("hand_size", None)
        unknown = [name for name in given if name not in _FIELDS]
        if unknown:
            near = difflib.get_close_matches(unknown[0], _FIELDS, n=1)
            raise RuleSetError(unknown[0], "is no parameter" + (f"; did you mean {near[0]!r}?" if near else ""))
        rules = cls(**{name: _read(name, value) for name, value in given.items()})
        if hand_size is not None and hand_size != rules.hand_size:
            raise RuleSetError("hand_size", f"is {hand_size!r} but the pack deals {rules.hand_size} to each seat")
        return rules

    def to_dict(self) -> dict[str, Any]:
        """Plain data that :meth:`from_dict` reads back to an equal rule set, ``hand_size`` included."""
        data = {f.name: _plain(getattr(self, f.name)) for f in fields(self)}
        data["hand_size"] = self.hand_size
        return data


_FIELDS: Final = {f.name: f for f in fields(RuleSet)}

ENUM_PARAMETERS: Final[dict[str, type[StrEnum]]] = {
    "leftover": Leftover,
    "first_leader": FirstLeader,
    "first_lead": FirstLead,
    "first_trick_ban": FirstTrickBan,
    "first_trick_exception": FirstTrickException,
    "lead_if_only_hearts": LeadIfOnlyHearts,
    "lead_if_only_penalty": LeadIfOnlyPenalty,
    "qs_may_lead": QueenLead,
    "all_cancelled": AllCancelled,
    "last_all_cancelled": LastAllCancelled,
    "moon": Moon,
    "moon_needs": MoonNeeds,
    "moon_value": MoonValue,
    "moon_bonus": MoonBonus,
    "moon_partner": MoonPartner,
    "moon_unit": MoonUnit,
    "end": GameEnd,
    "winner": Winner,
    "tie": Tie,
    "revoke": Revoke,
    "misdeal": Misdeal,
    "claim": Claim,
}
"""The parameters whose value is one member of an enum."""

_INTS: Final = ("players", "decks", "pass_count", "QS", "KS", "AS", "start", "sign", "target")
_BOOLS: Final = ("must_break_hearts", "qs_breaks_hearts", "cancellation")
_NULLABLE: Final = tuple(name for name, f in _FIELDS.items() if f.default is None and f.default is not MISSING)


def _read(name: str, value: Any) -> Any:
    """The value of one parameter from plain data, typed; see :meth:`RuleSet.from_dict`."""
    if value is None and name in _NULLABLE:
        return None
    if name in ENUM_PARAMETERS:
        return _member(name, ENUM_PARAMETERS[name], value)
    if name == "pass_cycle":
        return tuple(_member(name, PassDirection, item) for item in _items(name, value))
    if name in _INTS:
        return _int(name, value)
    if name in _BOOLS:
        if not isinstance(value, bool):
            raise RuleSetError(name, f"is {value!r}; write true or false")
        return value
    if name == "heart_value":
        return value if value == PIP else _int(name, value, or_else=f" or {PIP!r}")
    if name == "removed":
        return tuple(_card(name, item) for item in _items(name, value))
    if name in ("card_values", "bonus"):
        if not isinstance(value, Mapping):
            raise RuleSetError(name, f"is {value!r}; write a table of cards and points")
        return {_card(name, card): _int(name, points) for card, points in value.items()}
    if name == "teams":
        return tuple(tuple(_int(name, seat) for seat in _items(name, team)) for team in _items(name, value))
    raise RuleSetError(name, f"is {value!r}; the only value today is null")


def _member(name: str, enum: type[StrEnum], value: Any) -> StrEnum:
    try:
        return enum(value)
    except ValueError:
        raise RuleSetError(name, f"is {value!r}; allowed: {', '.join(enum)}") from None


def _int(name: str, value: Any, or_else: str = "") -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise RuleSetError(name, f"is {value!r}; write a whole number{or_else}")
    return value


def _items(name: str, value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise RuleSetError(name, f"is {value!r}; write a list")
    return tuple(value)


def _card(name: str, value: Any) -> str:
    try:
        return str(Card.parse(str(value)))
    except CardSyntaxError as error:
        raise RuleSetError(name, str(error)) from None


def _plain(value: Any) -> Any:
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return value


def _hashable(value: Any) -> Any:
    return tuple(sorted(value.items())) if isinstance(value, Mapping) else value
