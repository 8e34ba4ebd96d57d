"""Replays: a sitting as JSON Lines, written and read.

The first line says what was played, one line per hand follows in order of board and hand, the last line closes the
file. The form is specified in ``docs/replay-format.md``. Nothing in it depends on time or on the order in which tables
ended, so bots that look at no clock leave the same bytes again. Whether it holds what it claims is the business of
:mod:`arbiter.match.verify`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from arbiter.deals import Seatings, SeatingsError, read_seatings
from arbiter.engine import (
    EngineError,
    Moon,
    PassDirection,
    RuleSet,
    Trick,
    cards_of,
    format_cards,
    mask_of,
    parse_cards,
)
from arbiter.errors import ArbiterError
from arbiter.links import FaultCode
from arbiter.match.faults import Fault
from arbiter.match.plan import FaultPolicy, MatchFormat, SittingPlan
from arbiter.match.record import HandRecord

FORMAT: Final = "hearts-arbiter-replay"
VERSION: Final = 3
"""Versions 1 and 2 came before the first release and are not read: they did not say which decisions a bot missed."""
NEWLINE: Final = b"\n"


class ReplayError(ArbiterError):
    """A replay that can't be read or does not hold what it claims; says where."""


@dataclass(frozen=True, slots=True)
class ReplayBot:
    """Who played."""

    entrant: int
    name: str
    digest: str


@dataclass(frozen=True, slots=True)
class Replay:
    """A sitting as it is kept."""

    sitting: str
    rules: RuleSet
    format: MatchFormat
    boards: int
    seating: int
    seatings: Seatings
    """In which arrangements the match plays its boards; ``seating`` is a number among them."""
    early_end: bool
    """Whether hands ended as soon as every card with points was taken."""
    fault_policy: FaultPolicy
    """What a fault cost."""
    fault_limit: int
    """With more faults than this a bot was put out."""
    bots: tuple[ReplayBot, ...]
    """By place."""
    hands: tuple[HandRecord, ...]
    faults: tuple[Fault, ...]
    """Those that belong to no single decision."""

    @property
    def all_faults(self) -> tuple[Fault, ...]:
        """Those and the ones of every hand."""
        return (*self.faults, *(fault for hand in self.hands for fault in hand.faults))


def replay_of(plan: SittingPlan, hands: Sequence[HandRecord], faults: Sequence[Fault]) -> Replay:
    """The replay of a sitting that was played."""
    bots = tuple(ReplayBot(bot.entrant, bot.name, bot.digest) for bot in plan.bots)
    ordered = tuple(sorted(faults, key=lambda fault: (fault.entrant, fault.code, fault.detail)))
    return Replay(
        sitting=plan.sitting,
        rules=plan.rules,
        format=plan.format,
        boards=plan.boards,
        seating=plan.seating,
        seatings=plan.seatings,
        early_end=plan.early_end,
        fault_policy=plan.fault_policy,
        fault_limit=plan.fault_limit,
        bots=bots,
        hands=tuple(hands),
        faults=ordered,
    )


def write_replay(replay: Replay) -> bytes:
    """The replay as JSON Lines in UTF-8."""
    header = {
        "format": FORMAT,
        "version": VERSION,
        "sitting": replay.sitting,
        "match_format": replay.format.value,
        "boards": replay.boards,
        "seating": replay.seating,
        "seatings": replay.seatings.count or replay.seatings.kind.value,
        "early_end": replay.early_end,
        "fault_policy": replay.fault_policy.value,
        "fault_limit": replay.fault_limit,
        "bots": [{"entrant": bot.entrant, "name": bot.name, "digest": bot.digest} for bot in replay.bots],
        "rules": replay.rules.to_dict(),
    }
    footer = {"end": len(replay.hands), "faults": [_fault_to_dict(fault) for fault in replay.faults]}
    lines = [header, *(hand_to_dict(hand) for hand in replay.hands), footer]
    return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines).encode()


def read_replay(data: bytes) -> Replay:
    """The replay that JSON Lines hold. It is read, not verified; see :func:`~arbiter.match.verify.verify_replay`.

    Raises:
        ReplayError: the text is no replay, or a line of it can't be read; says which.
    """
    try:
        lines = data.decode().removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        raise ReplayError(f"line {data.count(NEWLINE, 0, error.start) + 1}: not UTF-8") from error
    with _reading(1):
        header = _object(lines[0])
        if header.get("format") != FORMAT:
            raise ReplayError(f"line 1: no replay of format {FORMAT}")
        version = header.get("version")
        if type(version) is not int or version != VERSION:
            raise ReplayError(f"line 1: a replay of version {version!r}; version {VERSION} can be read")
        rules = RuleSet.from_dict(header["rules"])
        bots = tuple(
            ReplayBot(_int(bot["entrant"]), _text(bot["name"]), _text(bot["digest"])) for bot in header["bots"]
        )
        sitting, match_format = _text(header["sitting"]), MatchFormat(header["match_format"])
        boards, seating, early_end = _int(header["boards"]), _int(header["seating"]), _bool(header["early_end"])
        seatings = read_seatings(header["seatings"], rules)
        fault_policy, fault_limit = FaultPolicy(header["fault_policy"]), _int(header["fault_limit"])
    if len(lines) < 2:
        raise ReplayError("line 2: the file ends after its first line; it was cut off")
    hands: list[HandRecord] = []
    for number, line in enumerate(lines[1:-1], 2):
        with _reading(number):
            hands.append(_hand_from_dict(_object(line)))
    with _reading(len(lines)):
        footer = _object(lines[-1])
        if "end" not in footer:
            raise ReplayError(f"line {len(lines)}: no last line of a replay; the file was cut off")
        if footer["end"] != len(hands):
            raise ReplayError(f"line {len(lines)}: the file holds {len(hands)} hands and says {footer['end']!r}")
        faults = tuple(_fault_from_dict(fault) for fault in footer["faults"])
    return Replay(
        sitting=sitting,
        rules=rules,
        format=match_format,
        boards=boards,
        seating=seating,
        seatings=seatings,
        early_end=early_end,
        fault_policy=fault_policy,
        fault_limit=fault_limit,
        bots=bots,
        hands=tuple(hands),
        faults=faults,
    )


@contextmanager
def _reading(number: int) -> Iterator[None]:
    """Whatever is wrong with a line becomes an error that names the line."""
    try:
        yield
    except ReplayError:
        raise
    except (EngineError, SeatingsError) as error:
        raise ReplayError(f"line {number}: {error}") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ReplayError(f"line {number}: not what a replay holds there: {type(error).__name__}: {error}") from error


def _object(line: str) -> dict[str, Any]:
    value = json.loads(line)
    if not isinstance(value, dict):
        raise TypeError("no JSON object")
    return value


def _bool(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{value!r} is neither true nor false")
    return value


def _int(value: object) -> int:
    if type(value) is not int:  # bool is an int too, and 1.0 equals 1
        raise TypeError(f"{value!r} is no whole number")
    return value


def _int_or_none(value: object) -> int | None:
    return None if value is None else _int(value)


def _ints(values: Iterable[object]) -> tuple[int, ...]:
    return tuple(_int(value) for value in values)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def hand_to_dict(hand: HandRecord) -> dict[str, Any]:
    """A hand as one line of a replay holds it, plain data."""
    line: dict[str, Any] = {
        "board": hand.board,
        "hand": hand.number,
        "places": list(hand.places),
        "dealer": hand.dealer,
        "pass": hand.direction.value,
        "dealt": [format_cards(cards_of(mask)) for mask in hand.dealt],
    }
    if hand.kitty:
        line["kitty"] = format_cards(cards_of(hand.kitty))
    if hand.passed is not None:
        line["passed"] = [format_cards(cards) for cards in hand.passed]
    line["tricks"] = [[trick.leader, format_cards(trick.cards), trick.winner, trick.points] for trick in hand.tricks]
    if hand.offenders or hand.unfinished:
        line["unfinished"] = format_cards(hand.unfinished)
    if hand.offenders:
        line["offenders"] = list(hand.offenders)
    if hand.chosen_moon is not None:
        line["chosen_moon"] = hand.chosen_moon.value
    if hand.moon is not None:
        line["moon"] = hand.moon
    line["points"] = list(hand.points)
    line["totals"] = list(hand.totals)
    if hand.absent:
        line["absent"] = list(hand.absent)
    if hand.missed:
        line["missed"] = [list(each) for each in hand.missed]
    if hand.faults:
        line["faults"] = [_fault_to_dict(fault) for fault in hand.faults]
    return line


def _hand_from_dict(line: Mapping[str, Any]) -> HandRecord:
    chosen = line.get("chosen_moon")
    return HandRecord(
        board=_int(line["board"]),
        number=_int(line["hand"]),
        places=_ints(line["places"]),
        dealer=_int(line["dealer"]),
        direction=PassDirection(line["pass"]),
        dealt=tuple(mask_of(parse_cards(_text(cards))) for cards in line["dealt"]),
        kitty=mask_of(parse_cards(_text(line.get("kitty", "")))),
        passed=tuple(_indexes(cards) for cards in line["passed"]) if "passed" in line else None,
        tricks=tuple(
            Trick(_int(leader), _indexes(cards), _int_or_none(winner), _int(points))
            for leader, cards, winner, points in line["tricks"]
        ),
        unfinished=_indexes(line.get("unfinished", "")),
        offenders=_ints(line.get("offenders", ())),
        chosen_moon=Moon(chosen) if chosen is not None else None,
        moon=_int_or_none(line.get("moon")),
        points=_ints(line["points"]),
        totals=_ints(line["totals"]),
        absent=_ints(line.get("absent", ())),
        missed=tuple((_int(seat), _int(decision)) for seat, decision in line.get("missed", ())),
        faults=tuple(_fault_from_dict(fault) for fault in line.get("faults", ())),
    )


def _fault_to_dict(fault: Fault) -> dict[str, Any]:
    places = {"board": fault.board, "hand": fault.hand, "seat": fault.seat, "trick": fault.trick}
    return {
        "entrant": fault.entrant,
        "code": fault.code.value,
        "detail": fault.detail,
        **{name: value for name, value in places.items() if value is not None},
        **({"lost": True} if fault.lost else {}),
    }


def _fault_from_dict(data: Mapping[str, Any]) -> Fault:
    return Fault(
        entrant=_int(data["entrant"]),
        code=FaultCode(data["code"]),
        detail=_text(data["detail"]),
        board=_int_or_none(data.get("board")),
        hand=_int_or_none(data.get("hand")),
        seat=_int_or_none(data.get("seat")),
        trick=_int_or_none(data.get("trick")),
        lost=_bool(data.get("lost", False)),
    )


def _indexes(cards: object) -> tuple[int, ...]:
    return tuple(card.index for card in parse_cards(_text(cards)))
