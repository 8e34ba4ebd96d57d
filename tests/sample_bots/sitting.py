"""Plays a sitting in one process: real hands, real messages and the SDK's sessions; the network alone is missing."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from arbiter.api.bot.v1 import bot_pb2 as pb
from arbiter.api.game.v1 import match_pb2, rule_set_pb2
from arbiter.deals import deal, dealer
from arbiter.engine import (
    GameState,
    Hand,
    Moon,
    NextDeal,
    Phase,
    RuleSet,
    after_hand,
    compile_rules,
    moon_choice,
    new_game,
    new_hand,
    next_deal,
    pass_direction,
    score_hand,
)
from arbiter.sdk import BaseBot, Session
from arbiter.wire.rule_set import direction_to_number, rules_to_message

LOW_PLANE = (1 << 52) - 1

Cards = tuple[int, ...]


@dataclass
class Board:
    """A table: its hand in play and what its seats were told."""

    number: int
    entrants: tuple[int, ...]
    """By seat."""
    state: GameState
    dealt: NextDeal
    hand: Hand
    passes: dict[int, Cards] = field(default_factory=dict)
    tricks_told: dict[int, int] = field(default_factory=dict)
    """By seat; a seat that is not in it has not been dealt its cards."""
    received_told: set[int] = field(default_factory=set)


@dataclass
class Outcome:
    """What a sitting leaves."""

    points: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """By board: points by entrant, over all hands of the board."""
    moons: int = 0
    """How many hands ended with a moon."""
    hands: int = 0
    """How many hands were played."""
    record: dict[tuple[int, int], tuple[object, ...]] = field(default_factory=dict)
    """By board and hand number: all passes and tricks, to compare."""


class Sitting:
    """Every bot of ``bots`` plays every board once.

    Args:
        bots: one fresh bot per entrant.
        number: of the sitting: which rotation of the order that each board draws.
        order: where given, draws the order of tables and cuts batches, which may change no decision.
        deals: by board, hands to play instead of those dealt from the deal seed.
    """

    def __init__(
        self,
        rules: RuleSet,
        bots: Sequence[BaseBot],
        boards: Sequence[int],
        *,
        number: int = 0,
        deal_seed: bytes = b"deal seed of tests",
        game_format: bool = False,
        order: random.Random | None = None,
        deals: Mapping[int, Sequence[int]] | None = None,
    ) -> None:
        self.rules = compile_rules(rules)
        self.deal_seed = deal_seed
        self.game_format = game_format
        self.order = order
        self.deals = deals or {}
        self.outcome = Outcome()
        self.sessions = [Session(bot) for bot in bots]
        self.last_request = [0] * len(bots)
        self.boards = [
            self._seat(
                board,
                seats(rules.players, board, number),
                NextDeal(1, dealer(self.rules, board), pass_direction(rules, board)),
            )
            for board in boards
        ]
        for entrant, session in enumerate(self.sessions):
            assert session.greeting().greeting.max_open_tables >= 1
            start = pb.MatchStart(
                rules=rules_to_message(rules),
                format=match_pb2.MATCH_FORMAT_GAME if game_format else match_pb2.MATCH_FORMAT_HANDS,
                boards=len(boards),
                open_tables=len(boards),
                card_points=[p + b for p, b in zip(self.rules.penalty, self.rules.bonus, strict=True)],
                bot_seed=bytes([entrant, number] * 8),
            )
            assert not list(session.handle(pb.SitResponse(match_start=start)))

    def play(self) -> Outcome:
        """Play all boards to the end."""
        open_boards = self.boards
        while open_boards:
            for entrant in range(len(self.sessions)):
                for batch in self._batches([b for b in open_boards if _is_due(b, b.entrants.index(entrant))]):
                    self._ask(entrant, batch)
            for board in open_boards:
                if board.hand.phase is Phase.PASSING and len(board.passes) == self.rules.seats:
                    board.hand.exchange([board.passes[seat] for seat in range(self.rules.seats)])
            open_boards = [b for b in open_boards if b.hand.phase is not Phase.DONE or self._next_hand(b)]
        for session in self.sessions:
            assert not list(session.handle(pb.SitResponse(match_end=pb.MatchEnd())))
            assert session.ended
        return self.outcome

    def _seat(self, number: int, entrants: tuple[int, ...], dealt: NextDeal, state: GameState | None = None) -> Board:
        cards = deal(self.rules, self.deal_seed, number, dealt.hand_number)
        hands = self.deals.get(number, cards.hands)
        hand = new_hand(self.rules, hands, dealer=dealt.dealer, direction=dealt.direction, kitty=cards.kitty)
        return Board(number, entrants, state or new_game(self.rules), dealt, hand)

    def _batches(self, boards: list[Board]) -> Iterator[list[Board]]:
        if self.order is None:
            if boards:
                yield boards
            return
        self.order.shuffle(boards)
        while boards:
            cut = self.order.randint(1, len(boards))
            yield boards[:cut]
            boards = boards[cut:]

    def _ask(self, entrant: int, boards: list[Board]) -> None:
        batch, asked = self._requests(entrant, boards)
        count = self.rules.source.pass_count
        for answers in self.sessions[entrant].handle(batch):
            for row, request in enumerate(answers.passes.request_id):
                board = asked.pop(request)
                cards = tuple(answers.passes.cards[row * count : (row + 1) * count])
                board.passes[board.entrants.index(entrant)] = cards
            for request, card in zip(answers.plays.request_id, answers.plays.card, strict=True):
                asked.pop(request).hand.play(card)
        assert not asked

    def _requests(self, entrant: int, boards: list[Board]) -> tuple[pb.SitResponse, dict[int, Board]]:
        """What the entrant is sent about these boards, and which board each request is about."""
        batch = pb.SitResponse()
        asked: dict[int, Board] = {}
        for board in boards:
            self._tell(batch, board, board.entrants.index(entrant))
            self.last_request[entrant] += 1
            asked[self.last_request[entrant]] = board
            if board.hand.phase is Phase.PASSING:
                batch.pass_requests.request_id.append(self.last_request[entrant])
                batch.pass_requests.table.append(board.number)
            else:
                self._request_play(batch.play_requests, board, self.last_request[entrant])
        return batch, asked

    def _request_play(self, requests: pb.PlayRequests, board: Board, request: int) -> None:
        hand = board.hand
        requests.request_id.append(request)
        requests.table.append(board.number)
        requests.hand.append(hand.hands[hand.turn] & LOW_PLANE)
        if self.rules.two_packs:
            requests.hand_twice.append(hand.hands[hand.turn] >> 52)
        requests.legal.append(hand.legal)
        requests.leader.append(hand.leader)
        requests.trick_size.append(len(hand.trick))
        requests.trick.extend(hand.trick)
        requests.hearts_broken.append(hand.broken)
        requests.points.extend(hand.points)

    def _tell(self, batch: pb.SitResponse, board: Board, seat: int) -> None:
        """Add what happened at the table since the seat was last told."""
        hand = board.hand
        if seat not in board.tricks_told:
            board.tricks_told[seat] = 0
            batch.deals.table.append(board.number)
            batch.deals.hand_number.append(board.dealt.hand_number)
            batch.deals.seat.append(seat)
            batch.deals.dealer.append(board.dealt.dealer)
            batch.deals.direction.append(
                rule_set_pb2.PassDirection.ValueType(direction_to_number(board.dealt.direction))
            )
            batch.deals.hand.append(hand.hands[seat] & LOW_PLANE)
            if self.rules.two_packs:
                batch.deals.hand_twice.append(hand.hands[seat] >> 52)
            batch.deals.totals.extend(board.state.totals)
        if hand.received is not None and hand.passed is not None and seat not in board.received_told:
            board.received_told.add(seat)
            batch.cards_received.table.append(board.number)
            batch.cards_received.cards.extend(hand.received[seat])
            batch.cards_received.passed.extend(hand.passed[seat])
        for trick in hand.tricks[board.tricks_told[seat] :]:
            batch.trick_results.table.append(board.number)
            batch.trick_results.leader.append(trick.leader)
            batch.trick_results.cards.extend(trick.cards)
            batch.trick_results.winner.append(-1 if trick.winner is None else trick.winner)
            batch.trick_results.points.append(trick.points)
        board.tricks_told[seat] = len(hand.tricks)

    def _next_hand(self, board: Board) -> bool:
        """Score a finished hand, tell the seats, and deal the next where there is one."""
        hand = board.hand
        choice = moon_choice(self.rules, board.state, hand.penalty_taken, hand.bonus_taken)
        moon = None if choice is None else self._choose_moon(board, choice.shooter, choice.default)
        score = score_hand(self.rules, hand.penalty_taken, hand.bonus_taken, moon=moon)
        state = after_hand(self.rules, board.state, score)
        for seat, entrant in enumerate(board.entrants):
            batch = pb.SitResponse()
            self._tell(batch, board, seat)
            batch.hand_results.table.append(board.number)
            batch.hand_results.points.extend(score.points)
            batch.hand_results.totals.extend(state.totals)
            batch.hand_results.moon.append(-1 if score.moon is None else score.moon)
            assert not list(self.sessions[entrant].handle(batch))
        by_entrant = tuple(score.points[board.entrants.index(entrant)] for entrant in range(len(self.sessions)))
        before = self.outcome.points.get(board.number, (0,) * len(by_entrant))
        self.outcome.points[board.number] = tuple(map(sum, zip(before, by_entrant, strict=True)))
        self.outcome.record[board.number, board.dealt.hand_number] = (hand.passed, tuple(hand.tricks))
        self.outcome.moons += score.moon is not None
        self.outcome.hands += 1
        if not self.game_format or state.over:
            return False
        upcoming = next_deal(self.rules.source, board.dealt.hand_number, board.dealt.dealer)
        vars(board).update(vars(self._seat(board.number, board.entrants, upcoming, state)))
        return True

    def _choose_moon(self, board: Board, shooter: int, default: Moon) -> Moon:
        entrant = board.entrants[shooter]
        self.last_request[entrant] += 1
        batch = pb.SitResponse()
        self._tell(batch, board, shooter)
        batch.moon_requests.request_id.append(self.last_request[entrant])
        batch.moon_requests.table.append(board.number)
        batch.moon_requests.subtract_by_default.append(default is Moon.NEW)
        (answers,) = self.sessions[entrant].handle(batch)
        return Moon.NEW if answers.moons.subtract[0] else Moon.OLD


def _is_due(board: Board, seat: int) -> bool:
    if board.hand.phase is Phase.PASSING:
        return seat not in board.passes
    return board.hand.turn == seat


def seats(players: int, board: int, number: int) -> tuple[int, ...]:
    """By seat: which bot sits there. Every board draws an order of the bots, and sittings rotate it."""
    drawn = list(range(players))
    random.Random(board).shuffle(drawn)
    return tuple(drawn[(seat + number) % players] for seat in range(players))
