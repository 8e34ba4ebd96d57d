"""Plays a replay again, step by step: whatever in it does not follow from the cards and the rules is found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from arbiter.deals import SeatingsKind, arrangement, arrangement_count, deal, dealer
from arbiter.engine import (
    EngineError,
    GameState,
    Hand,
    Moon,
    Phase,
    Rules,
    after_hand,
    cards_of,
    compile_rules,
    moon_choice,
    new_game,
    pass_direction,
    score_hand,
)
from arbiter.engine.rules import SUIT_MASKS
from arbiter.engine.ruleset import Revoke
from arbiter.links import FaultCode
from arbiter.match.plan import MatchFormat
from arbiter.match.record import HandRecord
from arbiter.match.replay import Replay, ReplayError


@dataclass(frozen=True, slots=True)
class SeatScore:
    """What one seat of one board came to."""

    board: int
    seat: int
    place: int
    """Place in the replay's list of bots."""
    hands: int
    """Hands played at the board."""
    points: int
    """Sum of the hands' points."""
    total: int
    """Total after the last hand; with one hand per board, the points with the rule set's sign."""


def verify_replay(replay: Replay, deal_seed: bytes | None = None) -> tuple[SeatScore, ...]:
    """Play a replay again, step by step, and return what every seat of every board came to.

    Args:
        replay: what to check.
        deal_seed: the deal set's seed; with it the cards dealt are checked too.

    Raises:
        ReplayError: names the board, the hand and the first step that does not follow.
    """
    return tuple(_verified(replay, deal_seed))


def _verified(replay: Replay, deal_seed: bytes | None) -> Iterator[SeatScore]:
    rules = compile_rules(replay.rules)
    _check_frame(replay)
    by_board: dict[int, list[HandRecord]] = {}
    for record in replay.hands:
        by_board.setdefault(record.board, []).append(record)
    for board, records in by_board.items():
        game = new_game(rules)
        points = [0] * rules.seats
        places = _places(replay, board, records[0], deal_seed)
        for record in records:
            where = f"board {board}, hand {record.number}"
            if game.over:
                raise ReplayError(f"{where}: the game was over before it")
            if record.number != game.hand_number:
                raise ReplayError(f"{where}: hand {game.hand_number} comes next")
            if replay.format is MatchFormat.HANDS and record.number > 1:
                raise ReplayError(f"{where}: a board of this match is one hand")
            if record.places != places:
                raise ReplayError(f"{where}: seated as {record.places}, not as {places}")
            try:
                game = _verify_hand(replay, rules, record, game, deal_seed, where)
            except EngineError as error:
                raise ReplayError(f"{where}: {error}") from error
            points = [sum(pair) for pair in zip(points, record.points, strict=True)]
        if replay.format is MatchFormat.GAME and not game.over:
            raise ReplayError(f"board {board}: the game is not over after its last hand")
        for seat, place in enumerate(places):
            yield SeatScore(board, seat, place, len(records), points[seat], game.totals[seat])


def _places(replay: Replay, board: int, record: HandRecord, deal_seed: bytes | None) -> tuple[int, ...]:
    """Who has to sit where. Drawn seatings follow from the deal seed; without it any arrangement will do."""
    rules = replay.rules
    if deal_seed is not None or replay.seatings.kind is not SeatingsKind.RANDOM:
        return replay.seatings.places(rules, deal_seed or b"", board, replay.seating)
    if record.places not in (arrangement(rules, number) for number in range(arrangement_count(rules))):
        raise ReplayError(f"board {board}: seated as {record.places}, which is no arrangement of the entrants")
    return record.places


def _check_frame(replay: Replay) -> None:
    """What the first and the last line say, and the order of those between."""
    players, sittings = replay.rules.players, replay.seatings.sittings(replay.rules)
    if len(replay.bots) != players:
        raise ReplayError(f"{replay.sitting}: {len(replay.bots)} bots for {players} seats")
    if not 0 <= replay.seating < sittings:
        raise ReplayError(f"{replay.sitting}: seating {replay.seating}; there are 0 to {sittings - 1}")
    numbers = [record.board for record in replay.hands]
    if numbers != sorted(numbers):
        raise ReplayError(f"{replay.sitting}: the hands are not in order of board")
    boards = sorted(set(numbers))
    if len(boards) != replay.boards or boards[:1] != [1] or boards[-1] != replay.boards:
        raise ReplayError(f"{replay.sitting}: holds {len(boards)} boards, which are not 1 to {replay.boards}")
    entrants = {bot.entrant for bot in replay.bots}
    for fault in replay.faults:
        if fault.entrant not in entrants:
            raise ReplayError(f"{replay.sitting}: a fault of entrant {fault.entrant}, who did not play")


def _verify_hand(
    replay: Replay, rules: Rules, record: HandRecord, game: GameState, deal_seed: bytes | None, where: str
) -> GameState:
    _check_deal(rules, record, deal_seed, where)
    count = record.board if replay.format is MatchFormat.HANDS else record.number
    deals, direction = dealer(rules, count), pass_direction(replay.rules, count)
    if (record.dealer, record.direction) != (deals, direction):
        raise ReplayError(
            f"{where}: dealer and pass direction are {record.dealer} {record.direction}, not {deals} {direction}"
        )
    hand = Hand(rules, record.dealt, dealer=record.dealer, direction=record.direction, kitty=record.kitty)
    _replay_cards(hand, record, replay.early_end, where)
    if record.offender is not None:
        _check_offence(hand, record, record.offender, where)
        hand.end_by_offence(record.offender)
    if hand.phase is not Phase.DONE:
        raise ReplayError(f"{where}: cards are left to play")
    _check_faults(replay, record, where)
    offered = None if hand.offenders else moon_choice(rules, game, hand.penalty_taken, hand.bonus_taken)
    if record.chosen_moon not in ((None,) if offered is None else (Moon.OLD, Moon.NEW)):
        allowed = "there was nothing to choose" if offered is None else "old or new was to be chosen"
        raise ReplayError(f"{where}: the choice about a moon is {record.chosen_moon}, but {allowed}")
    score = score_hand(rules, hand.penalty_taken, hand.bonus_taken, offenders=hand.offenders, moon=record.chosen_moon)
    if (score.points, score.moon) != (record.points, record.moon):
        raise ReplayError(
            f"{where}: scored {record.points} with moon {record.moon}, but its tricks come to"
            f" {score.points} with moon {score.moon}"
        )
    after = after_hand(rules, game, score)
    if after.totals != record.totals:
        raise ReplayError(f"{where}: totals are {record.totals}, but come to {after.totals}")
    return after


def _check_deal(rules: Rules, record: HandRecord, deal_seed: bytes | None, where: str) -> None:
    sizes = [len(cards_of(mask)) for mask in record.dealt]
    if sizes != [rules.hand_size] * rules.seats:
        raise ReplayError(f"{where}: hands of {sizes} cards, but {rules.seats} seats get {rules.hand_size} each")
    packed = sorted(card.index for mask in (*record.dealt, record.kitty) for card in cards_of(mask))
    if packed != sorted(rules.deck):
        raise ReplayError(f"{where}: the cards dealt are not the pack")
    if deal_seed is not None:
        dealt = deal(rules, deal_seed, record.board, record.number)
        if (dealt.hands, dealt.kitty) != (record.dealt, record.kitty):
            raise ReplayError(f"{where}: the cards are not those that the deal seed gives")


def _replay_cards(hand: Hand, record: HandRecord, early_end: bool, where: str) -> None:
    """The pass and every card, as far as the hand went."""
    seats = hand.rules.seats
    if hand.phase is Phase.PASSING:
        if record.passed is None or len(record.passed) != seats:
            raise ReplayError(f"{where}: the hand has a pass to the {record.direction}, which {seats} seats make")
        hand.exchange(record.passed)
    if record.passed != hand.passed:
        raise ReplayError(f"{where}: holds passes that are not in order, or though the hand has none")
    for number, trick in enumerate(record.tricks, 1):
        if hand.phase is not Phase.PLAYING:
            raise ReplayError(f"{where}: trick {number} comes after the hand's end")
        if trick.leader != hand.leader:
            raise ReplayError(f"{where}, trick {number}: led by seat {trick.leader}, not {hand.leader}")
        if len(trick.cards) != seats:
            raise ReplayError(f"{where}, trick {number}: {len(trick.cards)} cards, but {seats} seats play")
        for card in trick.cards:
            hand.play(card)
        if hand.tricks[-1] != trick:
            came_to = hand.tricks[-1]
            raise ReplayError(
                f"{where}, trick {number}: won by {trick.winner} with {trick.points} points, but its cards come to"
                f" {came_to.winner} with {came_to.points}"
            )
        if early_end and hand.settled:
            hand.end_early()
    if len(record.unfinished) >= seats:
        raise ReplayError(f"{where}: an unfinished trick of {len(record.unfinished)} cards")
    for card in record.unfinished:
        hand.play(card)


def _check_offence(hand: Hand, record: HandRecord, offender: int, where: str) -> None:
    """Only a revoke ends a hand, only where the rule set says so, and only who could have followed suit revokes."""
    if hand.rules.source.revoke is not Revoke.OFFENDER_TAKES_ALL:
        raise ReplayError(f"{where}: ended by an offence, which these rules do not know")
    if hand.turn != offender or not hand.trick or not hand.legal & SUIT_MASKS[hand.trick[0]]:
        raise ReplayError(f"{where}: seat {offender} could not have revoked there")
    if not any(fault.seat == offender and fault.code is FaultCode.ILLEGAL_PLAY for fault in record.faults):
        raise ReplayError(f"{where}: ended by an offence of seat {offender}, of whom no illegal play is recorded")


def _check_faults(replay: Replay, record: HandRecord, where: str) -> None:
    if list(record.stand_ins) != sorted(set(record.stand_ins) & set(range(replay.rules.players))):
        raise ReplayError(f"{where}: stand-ins at {record.stand_ins}, which are not seats in order")
    for fault in record.faults:
        if (fault.board, fault.hand) != (record.board, record.number):
            raise ReplayError(f"{where}: holds a fault of board {fault.board}, hand {fault.hand}")
        if fault.seat is None or fault.seat not in range(replay.rules.players):
            raise ReplayError(f"{where}: a fault of seat {fault.seat}, which there is not")
        entrant = replay.bots[record.places[fault.seat]].entrant
        if fault.entrant != entrant:
            raise ReplayError(
                f"{where}: a fault of entrant {fault.entrant} in seat {fault.seat}, where entrant {entrant} sits"
            )
        if fault.seat not in record.stand_ins and fault.seat != record.offender:
            raise ReplayError(f"{where}: seat {fault.seat} has a fault, but nobody stood in for it")
