"""Plays a replay again, step by step: whatever in it does not follow from the cards and the rules is found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from arbiter.deals import SeatingsKind, arrangement, arrangement_count, commitment, deal, dealer
from arbiter.engine import (
    CARDS,
    EngineError,
    GameState,
    Hand,
    IllegalPass,
    IllegalPlay,
    Moon,
    Phase,
    Rules,
    after_hand,
    cards_of,
    check_pass,
    compile_rules,
    format_cards,
    moon_choice,
    new_game,
    new_hand,
    pass_direction,
    pass_view,
    play_view,
    score_hand,
)
from arbiter.match.plan import MatchFormat, SittingPlan
from arbiter.match.record import HandRecord
from arbiter.match.replay import Replay, ReplayError
from arbiter.match.stand_in import stand_in_card, stand_in_pass
from arbiter.match.verify_faults import (
    check_absence,
    check_charge,
    check_faults,
    check_missed,
    check_offence,
    check_under_way,
    check_unpunished,
    check_who_failed,
    entrants_put_out,
    illegal_plays,
)


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


def verify_replay(
    replay: Replay, deal_seed: bytes | None = None, published: str | None = None, open_tables: int | None = None
) -> tuple[SeatScore, ...]:
    """Play a replay again, step by step, and return what every seat of every board came to.

    Args:
        replay: what to check.
        deal_seed: the deal set's seed; with it the cards dealt are checked too.
        published: the commitment that was published before the first card; with it the deal seed is checked too.
        open_tables: how many tables were planned to be open at once; with it, how many hands one failure touched.

    Raises:
        ReplayError: names the board, the hand and the first step that does not follow.
    """
    if deal_seed is not None and published not in (None, commitment(deal_seed)):
        raise ReplayError(f"the deal seed's commitment is {commitment(deal_seed)}, but {published} was published")
    scores = tuple(_verified(replay, deal_seed))
    if open_tables is not None:
        check_under_way(replay, open_tables)
    return scores


def check_planned(replay: Replay, plan: SittingPlan) -> None:
    """Return when a replay says that it is of the very sitting that was planned; whether it verifies is not looked at.

    Raises:
        ReplayError: names the first part of the plan in which they differ.
    """
    for part, said, meant in (
        ("the sitting", replay.sitting, plan.sitting),
        ("the match format", replay.format.value, plan.format.value),
        ("the number of boards", replay.boards, plan.boards),
        ("the seating", replay.seating, plan.seating),
        ("the kind of seatings", replay.seatings.kind.value, plan.seatings.kind.value),
        ("the number of drawn seatings", replay.seatings.count, plan.seatings.count),
        ("early_end", replay.early_end, plan.early_end),
        ("the fault policy", replay.fault_policy.value, plan.fault_policy.value),
        ("the fault limit", replay.fault_limit, plan.fault_limit),
        ("the number of bots", len(replay.bots), len(plan.bots)),
    ):
        if said != meant:
            raise ReplayError(f"{part} is {said}, but {meant} was planned")
    for name, planned in plan.rules.to_dict().items():
        if (value := replay.rules.to_dict()[name]) != planned:
            raise ReplayError(f"rule set parameter {name!r} is {value!r}, but {planned!r} was planned")
    for place, (bot, seated) in enumerate(zip(replay.bots, plan.bots, strict=True)):
        if (bot.entrant, bot.name) != (seated.entrant, seated.name):
            raise ReplayError(
                f"in place {place} sits entrant {bot.entrant}, {bot.name}; {seated.entrant}, {seated.name} was planned"
            )
        if bot.digest != seated.digest:
            raise ReplayError(
                f"the version of entrant {bot.entrant} has digest {bot.digest}, but {seated.digest} was planned"
            )


def _verified(replay: Replay, deal_seed: bytes | None) -> Iterator[SeatScore]:
    rules = compile_rules(replay.rules)
    _check_frame(replay)
    put_out = entrants_put_out(replay)
    by_board: dict[int, list[HandRecord]] = {}
    for record in replay.hands:
        by_board.setdefault(record.board, []).append(record)
    for board, records in by_board.items():
        game = new_game(rules)
        points = [0] * rules.seats
        places = _places(replay, board, records[0], deal_seed)
        for record in records:
            where = f"board {board}, hand {record.number}"
            if record.number < game.hand_number:
                raise ReplayError(f"{where}: the hand comes a second time")
            if game.over:
                raise ReplayError(f"{where}: the game was over before it")
            if record.number > game.hand_number:
                raise ReplayError(f"{where}: hand {game.hand_number} is missing before it")
            if replay.format is MatchFormat.HANDS and record.number > 1:
                raise ReplayError(f"{where}: a board of this match is one hand")
            if record.places != places:
                raise ReplayError(f"{where}: seated as {record.places}, not as {places}")
            try:
                game = _verify_hand(replay, rules, record, game, deal_seed, put_out, where)
            except EngineError as error:
                raise ReplayError(f"{where}: {error}") from error
            points = [sum(pair) for pair in zip(points, record.points, strict=True)]
        if replay.format is MatchFormat.GAME and not game.over:
            raise ReplayError(f"board {board}: the game is not over after its last hand")
        for seat, place in enumerate(places):
            yield SeatScore(board, seat, place, len(records), points[seat], game.totals[seat])
    check_absence(replay)


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
    strange = next((board for board in boards if not 1 <= board <= replay.boards), None)
    if strange is not None:
        raise ReplayError(f"{replay.sitting}: holds board {strange}; there are 1 to {replay.boards}")
    if len(boards) < replay.boards:
        missing = next((number for number, board in enumerate(boards, 1) if number != board), len(boards) + 1)
        raise ReplayError(f"{replay.sitting}: board {missing} of {replay.boards} is missing")
    check_faults(replay)


def _verify_hand(
    replay: Replay,
    rules: Rules,
    record: HandRecord,
    game: GameState,
    deal_seed: bytes | None,
    put_out: frozenset[int],
    where: str,
) -> GameState:
    _check_deal(rules, record, deal_seed, where)
    count = record.board if replay.format is MatchFormat.HANDS else record.number
    deals, direction = dealer(rules, count), pass_direction(replay.rules, count)
    if record.dealer != deals:
        raise ReplayError(f"{where}: dealt by seat {record.dealer}, but seat {deals} is the dealer")
    if record.direction is not direction:
        raise ReplayError(f"{where}: the pass goes {record.direction}, but the rules say {direction}")
    hand = new_hand(rules, record.dealt, dealer=record.dealer, direction=record.direction, kitty=record.kitty)
    check_who_failed(replay, record, where)
    _replay_cards(hand, record, replay.early_end, where)
    check_offence(replay, hand, record, where)
    if record.offenders:
        hand.end_by_offence(*record.offenders)
    if hand.phase is not Phase.DONE:
        raise ReplayError(f"{where}: ends after trick {len(record.tricks)}, but cards are left to play")
    offered = None if hand.offenders else moon_choice(rules, game, hand.penalty_taken, hand.bonus_taken)
    if record.chosen_moon not in ((None,) if offered is None else (Moon.OLD, Moon.NEW)):
        allowed = "there was nothing to choose" if offered is None else "old or new was to be chosen"
        raise ReplayError(f"{where}: the choice about a moon is {record.chosen_moon}, but {allowed}")
    check_missed(replay, record, hand, offered, put_out, where)
    left_out = offered is not None and _stood_in(record, offered.shooter, len(record.tricks) + 1)
    if offered is not None and left_out and record.chosen_moon is not offered.default:
        raise ReplayError(
            f"{where}: the choice about a moon is {record.chosen_moon}, but the stand-in chooses {offered.default}"
        )
    score = score_hand(rules, hand.penalty_taken, hand.bonus_taken, offenders=hand.offenders, moon=record.chosen_moon)
    if record.moon != score.moon:
        raise ReplayError(f"{where}: {_seat(record.moon)} shot the moon, but by its tricks {_seat(score.moon)} did")
    if record.points != score.points:
        raise ReplayError(f"{where}: scored {record.points}, but its tricks come to {score.points}")
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
        pack, found = Counter(rules.deck), Counter(packed)
        doubled, missing = format_cards((found - pack).elements()), format_cards((pack - found).elements())
        raise ReplayError(
            f"{where}: the cards dealt are not the pack: too many {doubled or '-'}, missing {missing or '-'}"
        )
    if deal_seed is not None:
        dealt = deal(rules, deal_seed, record.board, record.number)
        for seat, (due, held) in enumerate(zip(dealt.hands, record.dealt, strict=True)):
            if held != due:
                raise ReplayError(f"{where}: the cards of seat {seat} are not those that the deal seed gives")


def _replay_cards(hand: Hand, record: HandRecord, early_end: bool, where: str) -> None:
    """The pass and every card, as far as the hand went."""
    seats = hand.rules.seats
    _replay_pass(hand, record, where)
    for number, trick in enumerate(record.tricks, 1):
        step = f"{where}, trick {number}"
        if hand.phase is not Phase.PLAYING:
            raise ReplayError(f"{step}: comes after the hand's end")
        if trick.leader != hand.leader:
            raise ReplayError(f"{step}: led by seat {trick.leader}, not {hand.leader}")
        if len(trick.cards) != seats:
            raise ReplayError(f"{step}: {len(trick.cards)} cards, but {seats} seats play")
        _replay_trick(hand, record, trick.cards, step)
        came_to = hand.tricks[-1]
        if trick.winner != came_to.winner:
            raise ReplayError(f"{step}: won by {_seat(trick.winner)}, but its cards give it to {_seat(came_to.winner)}")
        if trick.points != came_to.points:
            raise ReplayError(f"{step}: has {trick.points} points, but its cards come to {came_to.points}")
        if early_end and hand.settled:
            hand.end_early()
    if len(record.unfinished) >= seats:
        raise ReplayError(f"{where}: an unfinished trick of {len(record.unfinished)} cards")
    _replay_trick(hand, record, record.unfinished, f"{where}, trick {len(record.tricks) + 1}")


def _replay_pass(hand: Hand, record: HandRecord, where: str) -> None:
    seats, passed = hand.rules.seats, record.passed
    if hand.phase is not Phase.PASSING:
        if passed is not None:
            raise ReplayError(f"{where}: cards were passed, but the hand has no pass")
        return
    if passed is None:
        raise ReplayError(f"{where}: no cards were passed, but the hand has a pass to the {record.direction}")
    if len(passed) != seats:
        raise ReplayError(f"{where}: {len(passed)} seats passed, but {seats} have to")
    for seat, cards in enumerate(passed):
        try:
            check_pass(hand.rules, hand.hands[seat], cards)
        except IllegalPass as error:
            raise ReplayError(f"{where}, pass of seat {seat}: {error}") from error
        if list(cards) != sorted(cards):
            raise ReplayError(f"{where}, pass of seat {seat}: {format_cards(cards)} is not in ascending order")
        if _stood_in(record, seat, 0) and cards != (due := tuple(sorted(stand_in_pass(pass_view(hand, seat))))):
            passes, not_these = format_cards(due), format_cards(cards)
            raise ReplayError(
                f"{where}, pass of seat {seat}: in its place the stand-in passes {passes}, not {not_these}"
            )
    hand.exchange(passed)


def _replay_trick(hand: Hand, record: HandRecord, cards: Sequence[int], step: str) -> None:
    number = len(hand.tricks) + 1
    charged = illegal_plays(record, number)
    for card in cards:
        seat = hand.turn
        if seat in charged:
            check_charge(hand, charged[seat], f"{step}, seat {seat}")
            check_unpunished(hand, charged[seat], f"{step}, seat {seat}")
        if _stood_in(record, seat, number) and card != (due := stand_in_card(play_view(hand))):
            raise ReplayError(f"{step}, seat {seat}: in its place the stand-in plays {CARDS[due]}, not {CARDS[card]}")
        try:
            hand.play(card)
        except IllegalPlay as error:
            raise ReplayError(f"{step}, seat {seat}: {error}") from error


def _stood_in(record: HandRecord, seat: int, decision: int) -> bool:
    """Whether a decision that was made is the stand-in's; one that ended the hand was not made."""
    return seat in record.absent or (seat, decision) in record.missed


def _seat(seat: int | None) -> str:
    return "nobody" if seat is None else f"seat {seat}"
