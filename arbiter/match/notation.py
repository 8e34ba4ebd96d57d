"""A sitting as text for people, after the model of PBN (Portable Bridge Notation): tag pairs and a row per trick.

It holds what the JSON Lines of :mod:`arbiter.match.replay` hold, and is specified beside them in
``docs/replay-format.md``. What is written is always in one form; what is read may differ from it in the order of tags,
in blanks, case and comments. Whether it holds what it claims is the business of :mod:`arbiter.match.verify`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeVar

from arbiter.deals import SeatingsError, read_seatings
from arbiter.engine import (
    CARDS,
    Card,
    EngineError,
    Moon,
    PassDirection,
    RuleSet,
    Suit,
    Trick,
    format_cards,
    mask_of,
    parse_cards,
)
from arbiter.engine.cards import indexes_of
from arbiter.links import FaultCode
from arbiter.match.faults import Fault
from arbiter.match.plan import FaultPolicy, MatchFormat
from arbiter.match.record import HandRecord
from arbiter.match.replay import Replay, ReplayBot, ReplayError

Value = TypeVar("Value")
Default = TypeVar("Default")
Choice = TypeVar("Choice", bound=StrEnum)

NOTATION: Final = "hearts-arbiter-notation 1"

_SUITS: Final = tuple(reversed(Suit))
"""Spades first, as in PBN."""

_OF_THE_SITTING: Final = re.compile(
    "format|sitting|matchformat|boards|seating|seatings|earlyend|faultpolicy|faultlimit"
    "|(bot|entrant|digest)[0-9]+|rules|sittingfault|end"
)
"""Names of the tags that belong to no hand, wherever they stand."""

_FAULT_PLACES: Final = ("board", "hand", "seat", "trick")
_ROW: Final = re.compile(r"(-?[0-9]+)\s*:([^=:]*)=\s*(-?[0-9]+|-)(?:\s+([+-]?[0-9]+))?\s*")


def write_notation(replay: Replay) -> str:
    """The replay as text notation, each line ended by a line feed."""
    lines = [
        _tag("Format", NOTATION),
        _tag("Sitting", replay.sitting),
        _tag("MatchFormat", replay.format.value),
        _tag("Boards", replay.boards),
        _tag("Seating", replay.seating),
        _tag("Seatings", replay.seatings.count or replay.seatings.kind.value),
        _tag("EarlyEnd", "yes" if replay.early_end else "no"),
        _tag("FaultPolicy", replay.fault_policy.value),
        _tag("FaultLimit", replay.fault_limit),
    ]
    for place, bot in enumerate(replay.bots):
        lines += [
            _tag(f"Bot{place}", bot.name),
            _tag(f"Entrant{place}", bot.entrant),
            _tag(f"Digest{place}", bot.digest),
        ]
    lines.append(f"[Rules {json.dumps(replay.rules.to_dict(), separators=(',', ':'))}]")
    for hand in replay.hands:
        lines += ["", *_hand_lines(hand)]
    lines += ["", *(_tag("SittingFault", _fault_text(fault)) for fault in replay.faults)]
    lines.append(_tag("End", len(replay.hands)))
    return "".join(line + "\n" for line in lines)


def is_notation(text: str) -> bool:
    """Whether a text means to be this notation: it has a Format tag, which JSON Lines can't have."""
    return re.search(r'\[\s*format\s*"', text, re.IGNORECASE) is not None


def read_notation(text: str) -> Replay:
    """The replay that a text in this notation holds. It is read, not verified.

    Raises:
        ReplayError: the text is not in this notation, or something in it can't be read; names the line.
    """
    sitting, hands = _sections(text)
    if sitting.optional("Format", str, "").strip().lower() != NOTATION:
        raise ReplayError(f'line 1: not in this notation, which begins with [Format "{NOTATION}"]')
    rules = sitting.one("Rules", _rules)
    bots: list[ReplayBot] = []
    while sitting.has(f"Bot{len(bots)}"):
        place = len(bots)
        name, entrant = sitting.one(f"Bot{place}", str), sitting.one(f"Entrant{place}", _whole)
        bots.append(ReplayBot(entrant, name, sitting.one(f"Digest{place}", str)))
    end = sitting.tag("End", "the file was cut off")
    if end.read(_whole) != len(hands):
        raise ReplayError(f"line {end.line}: the file holds {len(hands)} hands and says {end.value!r}")
    replay = Replay(
        sitting=sitting.one("Sitting", str),
        rules=rules,
        format=sitting.one("MatchFormat", _member(MatchFormat)),
        boards=sitting.one("Boards", _whole),
        seating=sitting.one("Seating", _whole),
        seatings=sitting.one("Seatings", lambda value: read_seatings(_word_or_number(value), rules)),
        early_end=sitting.one("EarlyEnd", _yes_or_no),
        fault_policy=sitting.one("FaultPolicy", _member(FaultPolicy)),
        fault_limit=sitting.one("FaultLimit", _whole),
        bots=tuple(bots),
        hands=tuple(_hand(section) for section in hands),
        faults=sitting.all("SittingFault", _fault),
    )
    for section in (sitting, *hands):
        section.refuse_rest()
    return replay


def _sections(text: str) -> tuple[_Section, list[_Section]]:
    """What belongs to the sitting, wherever it stands, and to each hand: all of a hand's after its Board tag."""
    sitting, hands = _Section("the sitting", 1), list[_Section]()
    for item in _scan(text):
        if _OF_THE_SITTING.fullmatch(item.key):
            sitting.add(item)
            continue
        if item.key == "board":
            hands.append(_Section(f"the hand of board {item.value}", item.line))
        if not hands:
            raise ReplayError(
                f"line {item.line}: {item} is not the sitting's, and no hand has begun; a hand begins with its [Board]"
            )
        hands[-1].add(item)
    return sitting, hands


# -- a hand ------------------------------------------------------------------------------------------------------------


def _hand_lines(hand: HandRecord) -> Iterator[str]:
    yield _tag("Board", hand.board)
    yield _tag("Hand", hand.number)
    yield _tag("Places", _joined(hand.places))
    yield _tag("Dealer", hand.dealer)
    yield _tag("Pass", hand.direction.value)
    yield _tag("Deal", f"0:{' '.join(map(_held_text, hand.dealt))}")
    if hand.kitty:
        yield _tag("Kitty", _held_text(hand.kitty))
    if hand.passed is not None:
        yield _tag("Passed", " / ".join(format_cards(cards) or "-" for cards in hand.passed))
    yield _tag("Play", len(hand.tricks))
    for trick in hand.tricks:
        winner = "-" if trick.winner is None else trick.winner
        points = f" {trick.points:+d}" if trick.points else ""
        yield f"{trick.leader}: {format_cards(trick.cards)} = {winner}{points}"
    if hand.unfinished:
        yield _tag("Unfinished", format_cards(hand.unfinished))
    if hand.offenders:
        yield _tag("Offenders", " ".join(map(str, hand.offenders)))
    if hand.chosen_moon is not None:
        yield _tag("MoonChoice", hand.chosen_moon.value)
    if hand.moon is not None:
        yield _tag("Moon", hand.moon)
    yield _tag("Points", _joined(hand.points))
    yield _tag("Totals", _joined(hand.totals))
    if hand.absent:
        yield _tag("Absent", _joined(hand.absent))
    if hand.missed:
        yield _tag("Missed", " ".join(f"{seat}@{decision}" for seat, decision in hand.missed))
    for fault in hand.faults:
        yield _tag("Fault", _fault_text(fault))


def _hand(section: _Section) -> HandRecord:
    play = section.tag("Play")
    tricks = tuple(row.read(_trick) for row in section.rows)
    if play.read(_whole) != len(tricks):
        raise ReplayError(f"line {play.line}: {len(tricks)} tricks follow, but [Play] says {play.value!r}")
    return HandRecord(
        board=section.one("Board", _whole),
        number=section.one("Hand", _whole),
        places=section.one("Places", _wholes),
        dealer=section.one("Dealer", _whole),
        direction=section.one("Pass", _member(PassDirection)),
        dealt=section.one("Deal", _deal),
        kitty=section.optional("Kitty", _held, 0),
        passed=section.optional("Passed", _passed, None),
        tricks=tricks,
        unfinished=section.optional("Unfinished", _cards, ()),
        offenders=section.optional("Offenders", _wholes, ()),
        chosen_moon=section.optional("MoonChoice", _member(Moon), None),
        moon=section.optional("Moon", _whole, None),
        points=section.one("Points", _wholes),
        totals=section.one("Totals", _wholes),
        absent=section.optional("Absent", _wholes, ()),
        missed=section.optional("Missed", _missed, ()),
        faults=section.all("Fault", _fault),
    )


# -- values ------------------------------------------------------------------------------------------------------------


def _tag(name: str, value: str | int) -> str:
    quoted = json.dumps(str(value), ensure_ascii=False)
    # Names and details are a bot's words: no letter of theirs may steer a terminal or end a line.
    return f"[{name} {''.join(each if each.isprintable() else json.dumps(each)[1:-1] for each in quoted)}]"


def _joined(numbers: Iterable[int]) -> str:
    return " ".join(map(str, numbers))


def _held_text(mask: int) -> str:
    """Cards held, as PBN writes them: ranks of spades, hearts, diamonds, clubs, high ones first."""
    cards = [CARDS[index] for index in reversed(indexes_of(mask))]
    return ".".join("".join(card.rank.letter for card in cards if card.suit is suit) for suit in _SUITS)


def _held(text: str) -> int:
    suits = text.split(".")
    if len(suits) != len(_SUITS):
        raise ValueError(f"{text!r} are no cards held; write spades.hearts.diamonds.clubs, such as AQ2..T98.J")
    return mask_of(
        Card.parse(rank + suit.letter)
        for suit, ranks in zip(_SUITS, suits, strict=True)
        for rank in _ten_as_letter(ranks.strip().removeprefix("-"))
    )


def _deal(text: str) -> tuple[int, ...]:
    """By seat: cards dealt, from hands around the table that begin at any seat."""
    first, colon, hands = text.partition(":")
    held = [_held(hand) for hand in hands.split()]
    if not colon or (start := _whole(first)) not in range(max(1, len(held))):
        raise ValueError(f"{text!r} does not begin with a seat and a colon, such as 0:")
    return tuple(held[(seat - start) % len(held)] for seat in range(len(held)))


def _passed(text: str) -> tuple[tuple[int, ...], ...]:
    return tuple(_cards(cards.strip().removeprefix("-")) for cards in text.split("/")) if text.strip() else ()


def _cards(text: str) -> tuple[int, ...]:
    return tuple(card.index for card in parse_cards(_ten_as_letter(text)))


def _ten_as_letter(text: str) -> str:
    return text.upper().replace("10", "T")


def _trick(text: str) -> Trick:
    found = _ROW.fullmatch(text)
    if found is None:
        raise ValueError(
            f"{text!r} is no trick; write leader, cards in the order played, winner and points, such as 2: 4D QD KH KD"
            " = 1 +1"
        )
    leader, cards, winner, points = found.groups()
    return Trick(int(leader), _cards(cards), None if winner == "-" else int(winner), int(points or 0))


def _fault_text(fault: Fault) -> str:
    values: Sequence[int | None] = (fault.board, fault.hand, fault.seat, fault.trick)
    places = [f"{name} {value}" for name, value in zip(_FAULT_PLACES, values, strict=True) if value is not None]
    lost = ["lost"] if fault.lost else []
    return f"{' '.join([str(fault.entrant), fault.code.value, *places, *lost])}: {fault.detail}"


def _fault(text: str) -> Fault:
    head, _, detail = text.partition(": ")
    words = head.lower().split()
    lost = words[-1:] == ["lost"]
    if lost:
        words.pop()
    names, numbers = words[2::2], words[3::2]
    if len(words) < 2 or len(names) != len(numbers) or len({*names}) < len(names) or not {*names} <= {*_FAULT_PLACES}:
        raise ValueError(
            f"{head!r} says no fault; write entrant, code, as far as it has a place board, hand, seat, trick, and lost"
            " where it ended the bot: 10 ILLEGAL_PLAY board 1 hand 1 seat 0 trick 3: detail"
        )
    places = {name: _whole(number) for name, number in zip(names, numbers, strict=True)}
    return Fault(
        entrant=_whole(words[0]),
        code=_member(FaultCode)(words[1]),
        detail=detail,
        board=places.get("board"),
        hand=places.get("hand"),
        seat=places.get("seat"),
        trick=places.get("trick"),
        lost=lost,
    )


def _missed(text: str) -> tuple[tuple[int, int], ...]:
    """Seats and decisions, such as ``2@0 2@5``."""
    pairs = [word.partition("@") for word in text.split()]
    return tuple((_whole(seat), _whole(decision)) for seat, _, decision in pairs)


def _rules(text: str) -> RuleSet:
    data = json.loads(text)
    if not isinstance(data, dict):
        raise ValueError("holds no JSON object with the rule set's parameters")
    return RuleSet.from_dict(data)


def _word_or_number(text: str) -> str | int:
    word = text.strip().lower()
    return _whole(word) if word.isdecimal() else word


# -- tags and rows -----------------------------------------------------------------------------------------------------

_SKIPPED: Final = re.compile(r"(?:[\s\ufeff]|;[^\n]*|\{[^}]*\})*")
_TAG_NAME: Final = re.compile(r"\[\s*([A-Za-z][A-Za-z0-9]*)\s*")
_TAG_END: Final = re.compile(r"\s*\]")
_ROW_PART: Final = re.compile(r"[^\n;{\[]+")


@dataclass(frozen=True, slots=True)
class _Item:
    """A tag, or a row of play, whose name is empty."""

    line: int
    name: str
    value: str
    """Between the quotes, or as it stands where it is JSON or a row."""

    @property
    def key(self) -> str:
        return self.name.lower()

    def read(self, reader: Callable[[str], Value]) -> Value:
        """The value; whatever is wrong with it becomes an error that names the line."""
        try:
            return reader(self.value)
        except json.JSONDecodeError as error:
            raise ReplayError(f"line {self.line}: {self}: no JSON: {error.msg}") from error
        except (EngineError, SeatingsError, ValueError, TypeError, AttributeError, RecursionError) as error:
            raise ReplayError(f"line {self.line}: {self}: {error}") from error

    def __str__(self) -> str:
        return f"[{self.name}]" if self.name else "a trick"


class _Section:
    """The tags and rows of the sitting or of one hand, to be taken one by one."""

    def __init__(self, what: str, line: int) -> None:
        self.rows: list[_Item] = []
        self._what: Final = what
        self._line: Final = line
        self._tags: dict[str, list[_Item]] = {}

    def add(self, item: _Item) -> None:
        (self._tags.setdefault(item.key, []) if item.name else self.rows).append(item)

    def has(self, name: str) -> bool:
        return name.lower() in self._tags

    def all(self, name: str, reader: Callable[[str], Value]) -> tuple[Value, ...]:
        """The values of a tag that may come any number of times, in the order of the text."""
        return tuple(item.read(reader) for item in self._tags.pop(name.lower(), ()))

    def tag(self, name: str, otherwise: str = "") -> _Item:
        """A tag that has to be there once; ``otherwise`` says what its lack means."""
        found = self._tags.pop(name.lower(), [])
        if not found:
            hint = f"; {otherwise}" if otherwise else ""
            raise ReplayError(f"line {self._line}: {self._what} has no [{name}]{hint}")
        if len(found) > 1:
            raise ReplayError(f"line {found[1].line}: a second {found[1]} of {self._what}; it has one")
        return found[0]

    def one(self, name: str, reader: Callable[[str], Value]) -> Value:
        return self.tag(name).read(reader)

    def optional(self, name: str, reader: Callable[[str], Value], default: Default) -> Value | Default:
        return self.one(name, reader) if self.has(name) else default

    def refuse_rest(self) -> None:
        """What nobody asked for is a mistake, such as a misspelled name."""
        for items in self._tags.values():
            raise ReplayError(f"line {items[0].line}: {items[0]} is no tag of this notation")


def _scan(text: str) -> Iterator[_Item]:
    """The tags and rows of a text, without comments."""
    place, line, row = 0, 1, _Item(0, "", "")
    while True:
        start = _end(_SKIPPED, text, place)
        line += text.count("\n", place, start)
        tag = _TAG_NAME.match(text, start)
        if row.value and (tag or start == len(text) or line > row.line):
            yield row
            row = _Item(0, "", "")
        if start == len(text):
            return
        if tag:
            value, place = _tag_value(text, tag, line)
            yield _Item(line, tag[1], value)
        elif part := _ROW_PART.match(text, start):  # a comment may part a row
            row, place = _Item(line, "", f"{row.value} {part[0].strip()}".strip()), part.end()
        else:
            wrong = (
                "a comment that never ends; close it with }" if text[start] == "{" else 'no tag; write [Name "value"]'
            )
            raise ReplayError(f"line {line}: {wrong}")
        line += text.count("\n", start, place)


def _tag_value(text: str, tag: re.Match[str], line: int) -> tuple[str, int]:
    """A tag's value, and the place after the tag."""
    start = tag.end()
    try:
        found, place = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError) as error:
        raise ReplayError(f'line {line}: [{tag[1]}] has no value that can be read; write [{tag[1]} "value"]') from error
    end = _TAG_END.match(text, place)
    if end is None:
        raise ReplayError(f"line {line}: [{tag[1]}] is not closed after its value; write ]")
    return found if isinstance(found, str) else text[start:place], end.end()


def _end(pattern: re.Pattern[str], text: str, place: int) -> int:
    found = pattern.match(text, place)
    return found.end() if found else place


def _whole(text: str) -> int:
    if not re.fullmatch(r"\s*[+-]?[0-9]+\s*", text):
        raise ValueError(f"{text!r} is no whole number")
    return int(text)


def _wholes(text: str) -> tuple[int, ...]:
    return tuple(_whole(word) for word in text.split())


def _yes_or_no(text: str) -> bool:
    word = text.strip().lower()
    if word not in ("yes", "no"):
        raise ValueError(f"is {text!r}; write yes or no")
    return word == "yes"


def _member(kind: type[Choice]) -> Callable[[str], Choice]:
    """Reads a member of an enum in any case."""

    def read(text: str) -> Choice:
        for each in kind:
            if each.value.lower() == text.strip().lower():
                return each
        raise ValueError(f"is {text!r}; write one of {', '.join(kind)}")

    return read
