"""Replays in few bytes, as workers send them and the database keeps them: some thirty for a hand, where JSON Lines take
nine hundred.

What follows from the rules is left out: a hand is its deal, its passes and, of every card, which one of the legal ones
it was, as one number of mixed radix. Reading plays the hand again. Writing does too, and a hand that comes out
otherwise stands as a line of JSON; so every replay is read as it was written, one that breaks the rules too. The form
is specified in ``docs/replay-format.md``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import comb
from typing import Final, Protocol

from arbiter.deals import SeatingsError, SeatingsKind, dealer
from arbiter.engine import (
    EngineError,
    GameState,
    Hand,
    Moon,
    Phase,
    Rules,
    after_hand,
    compile_rules,
    moon_choice,
    new_game,
    new_hand,
    pass_direction,
    score_hand,
)
from arbiter.engine.cards import indexes_of, mask_of
from arbiter.match.faults import Fault
from arbiter.match.plan import MatchFormat
from arbiter.match.record import HandRecord
from arbiter.match.replay import Replay, ReplayError, read_replay, write_replay

MARK: Final = b"\x01"
"""First byte of the form; JSON Lines begin with a brace."""

_MOST_FAULTS: Final = 1 << 16
"""Of one hand."""

_MOST_BYTES: Final = 1024
"""Of the number of a hand, which takes some 300 at eleven seats with all exceptions. To take a number apart costs its
length for every choice, so that one as long as a report may be would hold the reader up for seconds."""

_MOONS: Final = (Moon.OLD, Moon.NEW)


class _NotRegularError(Exception):
    """A hand that is not what the rules make of its cards."""


def pack_replay(replay: Replay) -> bytes:
    """The replay in its packed form, the same bytes for equal replays."""
    course = _Course(replay)
    odd: list[HandRecord] = []
    faults: list[Fault] = []
    numbers: list[bytes] = []
    for record in replay.hands:
        writer = _Writer(record)
        try:
            if course.hand(writer) != record:
                raise _NotRegularError
        except (_NotRegularError, EngineError, SeatingsError, LookupError, ValueError):
            odd.append(record)
            numbers.append(b"")
            course.skip(record.board)
        else:
            faults += record.faults
            number = writer.number()
            # At least one byte: none marks a hand that is kept as a line.
            numbers.append(number.to_bytes(max(1, (number.bit_length() + 7) // 8), "little"))
    frame = write_replay(replace(replay, hands=tuple(odd), faults=(*faults, *replay.faults)))
    parts = [MARK, _varint(len(frame)), frame, _varint(len(numbers))]
    return b"".join([*parts, *(_varint(len(number)) for number in numbers), *numbers])


def unpack_replay(data: bytes, most_hands: int | None = None) -> Replay:
    """The replay that was packed, or that JSON Lines hold, as databases kept it before. It is read, not verified.

    Args:
        data: what :func:`pack_replay` returned.
        most_hands: of a packed replay no more hands than these are read, as each of them is played.

    Raises:
        ReplayError: the bytes are no replay, or a part of them can't be read; says which.
    """
    if not data.startswith(MARK):
        return read_replay(data)
    bytes_ = _Bytes(data, len(MARK))
    frame = read_replay(bytes_.take(bytes_.varint()))
    count = bytes_.count()
    if most_hands is not None and count > most_hands:
        raise ReplayError(f"{count} hands were announced, but {most_hands} at the most were planned")
    lengths = [bytes_.varint() for _ in range(count)]
    odd, faults, course = iter(frame.hands), iter(frame.faults), _Course(frame)
    hands: list[HandRecord] = []
    for number, length in enumerate(lengths, 1):
        record = next(odd, None) if not length else _read_hand(course, bytes_.take(length), faults, number)
        if record is None:
            raise ReplayError(f"hand {number}: it should stand as a line, and there is none left")
        if not length:
            course.skip(record.board)
        hands.append(record)
    if next(odd, None) is not None:
        raise ReplayError(f"more lines than hands: {len(lengths)} hands were announced")
    if not bytes_.at_end:
        raise ReplayError(f"bytes follow the {len(lengths)} hands that were announced")
    return replace(frame, hands=tuple(hands), faults=tuple(faults))


def _read_hand(course: _Course, number: bytes, faults: Iterator[Fault], count: int) -> HandRecord:
    if len(number) > _MOST_BYTES:
        raise ReplayError(f"hand {count}: its number takes {len(number)} bytes, and none takes more than {_MOST_BYTES}")
    reader = _Reader(int.from_bytes(number, "little"), faults)
    try:
        record = course.hand(reader)
    except (_NotRegularError, EngineError, SeatingsError, LookupError, ValueError) as error:
        raise ReplayError(f"hand {count}: its number can't be read: {error}") from error
    if reader.rest:
        raise ReplayError(f"hand {count}: its number is too large")
    return record


class _Coder(Protocol):
    """Carries choices, each one of so many. Writing, they are those of the record; reading, those that were written."""

    @property
    def record(self) -> HandRecord | None:
        """What is written; None when reading."""

    def code(self, choice: int, of: int) -> int:
        """A choice from 0 to ``of`` - 1; ``choice`` means nothing when reading."""

    def faults(self, count: int) -> tuple[Fault, ...]:
        """The next faults, which are not among the choices."""


class _Writer:
    """Makes a record's choices one number."""

    def __init__(self, record: HandRecord) -> None:
        self.record: Final = record
        self._choices: Final[list[tuple[int, int]]] = []

    def code(self, choice: int, of: int) -> int:
        if not 0 <= choice < of:
            raise _NotRegularError
        self._choices.append((choice, of))
        return choice

    def faults(self, count: int) -> tuple[Fault, ...]:
        return self.record.faults

    def number(self) -> int:
        """All choices; the first is the last digit, so that it is read first."""
        number = 0
        for choice, of in reversed(self._choices):
            number = number * of + choice
        return number


class _Reader:
    """Takes a number apart again."""

    record: Final = None

    def __init__(self, number: int, faults: Iterator[Fault]) -> None:
        self.rest = number
        self._faults: Final = faults

    def code(self, choice: int, of: int) -> int:
        if of < 1:
            raise _NotRegularError("more was chosen than there is")
        self.rest, found = divmod(self.rest, of)
        return found

    def faults(self, count: int) -> tuple[Fault, ...]:
        found = tuple(islice(self._faults, count))
        if len(found) < count:
            raise _NotRegularError("it has more faults than are left")
        return found


@dataclass(frozen=True, slots=True)
class _Exceptions:
    """What a hand has in which a bot failed."""

    absent: tuple[int, ...] = ()
    missed: tuple[tuple[int, int], ...] = ()
    faults: tuple[Fault, ...] = ()
    offenders: tuple[int, ...] = ()
    played: int = -1
    """Cards played before the offence; -1 without one."""


class _Course:
    """The hands of a sitting one after the other, written and read in the same steps."""

    def __init__(self, replay: Replay) -> None:
        self._replay: Final = replay
        self._rules: Final[Rules] = compile_rules(replay.rules)
        self._kitty: Final = len(self._rules.deck) - self._rules.seats * self._rules.hand_size
        self._board = 1
        self._game: GameState = new_game(self._rules)
        self._places: tuple[int, ...] = ()
        """Who sits where at the board under way; empty before its first hand."""

    def skip(self, board: int) -> None:
        """A hand of this board stood as a line: what comes next is taken to be another board."""
        self._begin(board + 1)

    def _begin(self, board: int) -> None:
        self._board, self._game, self._places = board, new_game(self._rules), ()

    def hand(self, coder: _Coder) -> HandRecord:
        """The next hand."""
        rules, record = self._rules, coder.record
        game = self._game
        places = self._places or self._seats(coder)
        exceptions = self._exceptions(coder)
        *dealt, kitty = self._deal(coder)
        count = self._board if self._replay.format is MatchFormat.HANDS else game.hand_number
        hand = new_hand(
            rules, dealt, dealer=dealer(rules, count), direction=pass_direction(rules.source, count), kitty=kitty
        )
        if hand.phase is Phase.PASSING:
            passed = record.passed or () if record else [()] * rules.seats
            hand.exchange([_pass(coder, hand.hands[seat], passed[seat], rules) for seat in range(rules.seats)])
        self._play(coder, hand, exceptions)
        chosen = self._choice(coder, hand)
        score = score_hand(rules, hand.penalty_taken, hand.bonus_taken, offenders=hand.offenders, moon=chosen)
        after = after_hand(rules, game, score)
        found = HandRecord(
            board=self._board,
            number=game.hand_number,
            places=places,
            dealer=hand.dealer,
            direction=hand.direction,
            dealt=tuple(dealt),
            kitty=kitty,
            passed=hand.passed,
            tricks=tuple(hand.tricks),
            unfinished=tuple(hand.trick),
            offenders=hand.offenders,
            chosen_moon=chosen,
            moon=score.moon,
            points=score.points,
            totals=after.totals,
            absent=exceptions.absent,
            missed=exceptions.missed,
            faults=exceptions.faults,
        )
        if self._replay.format is MatchFormat.HANDS or after.over:
            self._begin(self._board + 1)
        else:
            self._game, self._places = after, places
        return found

    def _seats(self, coder: _Coder) -> tuple[int, ...]:
        """By seat: the place of who sits there; where it was drawn, it follows from the deal seed alone."""
        replay, record = self._replay, coder.record
        if replay.seatings.kind is not SeatingsKind.RANDOM:
            return replay.seatings.places(replay.rules, b"", self._board, replay.seating)
        seats = range(self._rules.seats)
        left = list(seats)
        return tuple(
            [left.pop(coder.code(left.index(record.places[seat]) if record else 0, len(left))) for seat in seats]
        )

    def _exceptions(self, coder: _Coder) -> _Exceptions:
        record, seats = coder.record, self._rules.seats
        failed = record is not None and bool(record.absent or record.missed or record.faults or record.offenders)
        if not coder.code(failed, 2):
            return _Exceptions()
        absent = _some(coder, record.absent if record else (), seats)
        decisions = self._rules.hand_size + 2
        missed = [seat * decisions + decision for seat, decision in record.missed] if record else []
        missed = [*_some(coder, missed, seats * decisions)]
        faults = coder.faults(coder.code(len(record.faults) if record else 0, _MOST_FAULTS))
        offenders = _some(coder, record.offenders if record else (), seats)
        played = -1
        if offenders:
            cards = [*(trick.cards for trick in record.tricks), record.unfinished] if record else []
            played = coder.code(sum(map(len, cards)), len(self._rules.deck) + 1)
        return _Exceptions(absent, tuple([divmod(place, decisions) for place in missed]), faults, offenders, played)

    def _deal(self, coder: _Coder) -> list[int]:
        """By seat the cards dealt, and the kitty: of each card of the pack, which of those that still lack cards it
        went to."""
        rules, record = self._rules, coder.record
        lack = [rules.hand_size] * rules.seats + [self._kitty]
        held: list[list[int]] = [[] for _ in lack]
        lacking = [owner for owner, cards in enumerate(lack) if cards]
        owners: dict[int, list[int]] = {card: [] for card in rules.deck}
        if record is not None:
            for owner, mask in enumerate((*record.dealt, record.kitty)):
                for card in indexes_of(mask):
                    owners[card].insert(0, owner)
        for card in rules.deck:
            owner = lacking[coder.code(lacking.index(owners[card].pop()) if record else 0, len(lacking))]
            held[owner].append(card)
            lack[owner] -= 1
            if not lack[owner]:
                lacking.remove(owner)
        return [mask_of(cards) for cards in held]

    def _play(self, coder: _Coder, hand: Hand, exceptions: _Exceptions) -> None:
        record = coder.record
        cards: Sequence[int] = ()
        if record is not None:
            cards = [card for trick in record.tricks for card in trick.cards] + list(record.unfinished)
        early, seats = self._replay.early_end, self._rules.seats
        played = 0
        while hand.phase is Phase.PLAYING:
            if played == exceptions.played:
                hand.end_by_offence(*exceptions.offenders)
                return
            legal = hand.legal_indexes
            choice = legal.index(cards[played]) if record else 0
            hand.play(legal[coder.code(choice, len(legal)) if len(legal) > 1 else choice])
            played += 1
            if early and played % seats == 0 and hand.settled:
                hand.end_early()
        if exceptions.offenders:
            raise _NotRegularError("it is over before its offence")

    def _choice(self, coder: _Coder, hand: Hand) -> Moon | None:
        if hand.offenders or not moon_choice(self._rules, self._game, hand.penalty_taken, hand.bonus_taken):
            return None
        chosen = coder.record.chosen_moon if coder.record else None
        return _MOONS[coder.code(_MOONS.index(chosen) if chosen else 0, len(_MOONS))]


def _pass(coder: _Coder, hand: int, cards: Sequence[int], rules: Rules) -> tuple[int, ...]:
    """The cards that a seat passes: the number of their places among those held, in colexicographic order (Knuth, The
    Art of Computer Programming, 7.2.1.3, theorem L)."""
    held, count = indexes_of(hand), rules.source.pass_count
    rank = 0
    if coder.record is not None:
        place = -1
        for size, card in enumerate(cards, 1):
            place = held.index(card, place + 1)
            rank += comb(place, size)
        if len(cards) != count:
            raise _NotRegularError
    rank = coder.code(rank, comb(len(held), count))
    places: list[int] = []
    place = len(held)
    for size in range(count, 0, -1):
        place -= 1
        while comb(place, size) > rank:
            place -= 1
        rank -= comb(place, size)
        places.append(place)
    return tuple([held[place] for place in reversed(places)])


def _some(coder: _Coder, values: Sequence[int], of: int) -> tuple[int, ...]:
    """Values below ``of`` in ascending order: how many, and each among those that are above the one before."""
    found: list[int] = []
    start = 0
    for index in range(coder.code(len(values), of + 1)):
        start += coder.code(values[index] - start if index < len(values) else 0, of - start)
        found.append(start)
        start += 1
    return tuple(found)


def _varint(value: int) -> bytes:
    """Seven bits a byte, the lowest first; all bytes but the last have the highest bit set (LEB128)."""
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


class _Bytes:
    """Bytes to be taken one part after the other."""

    def __init__(self, data: bytes, place: int) -> None:
        self._data: Final = data
        self._place = place

    @property
    def at_end(self) -> bool:
        return self._place == len(self._data)

    def take(self, count: int) -> bytes:
        part = self._data[self._place : self._place + count]
        if len(part) < count:
            raise ReplayError(f"byte {self._place}: the replay is cut off")
        self._place += count
        return part

    def varint(self) -> int:
        value = shift = 0
        while True:
            (byte,) = self.take(1)
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 56:
                raise ReplayError(f"byte {self._place}: no number that a replay holds")

    def count(self) -> int:
        """A number of things of which each takes at least one byte of what is left."""
        count = self.varint()
        if count > len(self._data) - self._place:
            raise ReplayError(f"byte {self._place}: the replay is cut off: {count} hands were announced")
        return count
