"""One board in one sitting: deals, asks, applies answers and records, hand after hand. It knows no time and no
network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from arbiter.deals import deal, dealer
from arbiter.engine import (
    CARDS,
    IllegalPass,
    IllegalPlay,
    Moon,
    MoonChoice,
    Phase,
    Rules,
    Trick,
    after_hand,
    check_pass,
    format_cards,
    moon_choice,
    new_game,
    new_hand,
    pass_direction,
    pass_view,
    play_view,
    score_hand,
)
from arbiter.engine.ruleset import Revoke
from arbiter.links import FaultCode
from arbiter.match.faults import Fault
from arbiter.match.plan import FaultPolicy, MatchFormat, SittingPlan
from arbiter.match.player import Due, Player
from arbiter.match.record import HandRecord
from arbiter.match.stand_in import stand_in_card, stand_in_pass

SHOWN_CARDS: Final = 20
"""How many card numbers of a wrong answer are kept in a fault's detail."""


class Floor(Protocol):
    """What a table tells the sitting."""

    def charge(self, player: Player, fault: Fault) -> None:
        """A bot committed a fault."""

    def trick_done(self, board: int, trick: Trick) -> None:
        """A trick was completed."""

    def hand_done(self, record: HandRecord) -> None:
        """A hand ended."""

    def board_done(self, table: Table) -> None:
        """The board ended."""


class Table:
    """The board with this number, played by ``players``, who are given by seat."""

    def __init__(self, plan: SittingPlan, rules: Rules, board: int, players: Sequence[Player], floor: Floor) -> None:
        self.board: Final = board
        self._plan: Final = plan
        self._rules: Final = rules
        self._players: Final = tuple(players)
        self._floor: Final = floor
        self.places: Final = tuple([player.place for player in players])
        """By seat: place of who sits there."""
        self._game = new_game(rules)
        self._done = False
        self._start_hand()

    def open(self) -> None:
        """Deal the first hand."""
        self._deal()
        self.advance()

    def pass_answered(self, player: Player, cards: Sequence[int]) -> None:
        """A bot passes these card indexes; an illegal pass is charged, and in its place the
        stand-in's is made."""
        seat = self._players.index(player)
        try:
            check_pass(self._rules, self.hand.hands[seat], cards)
        except IllegalPass as error:
            self._charge(seat, FaultCode.ILLEGAL_PASS, f"{error.reason}; sent {_shown(cards)}")
            self._fail_to_pass(seat)
        else:
            self._passes[seat] = tuple(cards)
        self.advance()

    def card_answered(self, card: int) -> None:
        """The bot whose turn it is plays this card index; an illegal card is charged and the stand-in's is played."""
        hand = self.hand
        try:
            hand.play(card)
        except IllegalPlay as error:
            self._illegal_card(card, error)
        else:
            if hand.led:  # most cards: the trick goes on
                player = self._players[hand.turn]
                if player.playing:
                    player.ask_card(self)
                    return
            else:
                self._trick_done()
        self.advance()

    def moon_answered(self, player: Player, subtract: bool) -> None:
        """The shooter of a moon has chosen."""
        self._end_hand(Moon.NEW if subtract else Moon.OLD)
        self.advance()

    def stand_in(self, player: Player, due: Due) -> None:
        """The bot that owed this answer is lost; the stand-in gives it."""
        seat = self._players.index(player)
        if due is Due.PASS:
            self._fail_to_pass(seat)
        elif due is Due.CARD:
            self._fail_to_play()
        else:
            self._miss(seat)
            self._end_hand(self._choice.default if self._choice else None)
        self.advance()

    def _start_hand(self) -> None:
        """Set up everything that belongs to one hand alone."""
        number = self._game.hand_number
        # A hands match counts its boards as one hand after the other; a game counts its own hands.
        count = self.board if self._plan.format is MatchFormat.HANDS else number
        dealt = deal(self._rules, self._plan.deal_seed, self.board, number)
        self._dealt = dealt
        self.hand = new_hand(
            self._rules,
            dealt.hands,
            dealer=dealer(self._rules, count),
            direction=pass_direction(self._rules.source, count),
            kitty=dealt.kitty,
        )
        self._passes: list[tuple[int, ...] | None] = [None] * self._rules.seats
        self._choice: MoonChoice | None = None
        self._missed: set[tuple[int, int]] = set()
        self._offenders: set[int] = set()
        self._present = {seat for seat, player in enumerate(self._players) if player.playing}
        self._faults: list[Fault] = []

    def _deal(self) -> None:
        hand = self.hand
        number = self._game.hand_number
        totals = self._game.totals
        for seat, player in enumerate(self._players):
            if player.playing:
                dealt = pass_view(hand, seat).hand
                player.outbox.deal(self.board, number, seat, hand.dealer, hand.direction, dealt, totals)
        if hand.phase is Phase.PASSING:
            for seat, player in enumerate(self._players):
                if player.playing:
                    player.ask_pass(self)
                else:
                    self._fail_to_pass(seat)

    def _exchange(self) -> bool:
        """Exchange the cards passed; False while a seat still owes its pass."""
        passes = [cards for cards in self._passes if cards is not None]
        if len(passes) < self._rules.seats:
            return False
        self.hand.exchange(passes)
        moved = zip(self.hand.received or (), self.hand.passed or (), strict=True)
        for player, (received, passed) in zip(self._players, moved, strict=True):
            if player.playing:
                player.outbox.received(self.board, received, passed)
        if self._offenders:
            self.hand.end_by_offence(*sorted(self._offenders))
        return True

    def advance(self) -> None:
        """Go on until a bot owes an answer or the board is done: with stand-ins alone, through a whole game."""
        while not self._done:
            if self.hand.phase is Phase.PASSING:
                if not self._exchange():
                    return
            elif self.hand.phase is Phase.PLAYING:
                player = self._players[self.hand.turn]
                if player.playing:
                    player.ask_card(self)
                    return
                self._fail_to_play()
            else:
                if self._moon_asked():
                    return
                self._end_hand(self._choice.default if self._choice else None)

    def _trick_done(self) -> None:
        hand = self.hand
        self._floor.trick_done(self.board, hand.tricks[-1])
        if self._plan.early_end and hand.settled:
            hand.end_early()

    def _illegal_card(self, card: int, error: IllegalPlay) -> None:
        hand = self.hand
        seat = hand.turn
        legal = format_cards(hand.legal_indexes)
        if card >= len(CARDS):
            self._charge(seat, FaultCode.ILLEGAL_PLAY, f"{card} is no card index (0 to 51); legal: {legal}")
        else:
            self._charge(seat, FaultCode.ILLEGAL_PLAY, f"{error.reason}; legal: {legal}")
            if error.revoke and self._rules.source.revoke is Revoke.OFFENDER_TAKES_ALL:
                self._miss(seat)
                hand.end_by_offence(seat)
                return
        self._fail_to_play()

    def _fail_to_pass(self, seat: int) -> None:
        """A seat gives no legal pass. Where that ends the hand, it does so once all have passed."""
        self._miss(seat)
        self._passes[seat] = stand_in_pass(pass_view(self.hand, seat))
        if self._penalised(seat):
            self._offenders.add(seat)

    def _fail_to_play(self) -> None:
        """The seat whose turn it is gives no legal card."""
        self._miss(self.hand.turn)
        if self._penalised(self.hand.turn):
            self.hand.end_by_offence(self.hand.turn)
        else:
            self.hand.play(stand_in_card(play_view(self.hand)))
            if not self.hand.led:
                self._trick_done()

    def _miss(self, seat: int) -> None:
        """A bot that was there when the hand began does not make the decision that it owes."""
        if seat in self._present:
            self._missed.add((seat, 0 if self.hand.phase is Phase.PASSING else len(self.hand.tricks) + 1))

    def _penalised(self, seat: int) -> bool:
        """Whether a fault of this seat ends the hand. A bot that was out before it began costs nobody a hand, and can't
        keep a game from its end."""
        return self._plan.fault_policy is FaultPolicy.PENALTY and seat in self._present

    def _charge(self, seat: int, code: FaultCode, detail: str) -> None:
        player = self._players[seat]
        trick = len(self.hand.tricks) + 1 if self.hand.phase is Phase.PLAYING else None
        fault = Fault(player.bot.entrant, code, detail, self.board, self._game.hand_number, seat, trick)
        self._faults.append(fault)
        self._floor.charge(player, fault)

    def _moon_asked(self) -> bool:
        """Ask the shooter of a moon where it has a choice; False when nobody has to be waited for."""
        hand = self.hand
        if not hand.offenders:
            self._choice = moon_choice(self._rules, self._game, hand.penalty_taken, hand.bonus_taken)
        if self._choice is None:
            return False
        shooter = self._players[self._choice.shooter]
        if not shooter.playing:
            self._miss(self._choice.shooter)
            return False
        shooter.ask_moon(self, self._choice.default is Moon.NEW)
        return True

    def _end_hand(self, chosen: Moon | None) -> None:
        hand = self.hand
        score = score_hand(self._rules, hand.penalty_taken, hand.bonus_taken, offenders=hand.offenders, moon=chosen)
        number = self._game.hand_number
        self._game = after_hand(self._rules, self._game, score)
        for player in self._players:
            if player.playing:
                player.outbox.hand_result(self.board, score.points, self._game.totals, score.moon)
        self._floor.hand_done(
            HandRecord(
                board=self.board,
                number=number,
                places=self.places,
                dealer=hand.dealer,
                direction=hand.direction,
                dealt=self._dealt.hands,
                kitty=self._dealt.kitty,
                passed=hand.passed,
                tricks=tuple(hand.tricks),
                unfinished=tuple(hand.trick),
                offenders=hand.offenders,
                chosen_moon=chosen,
                moon=score.moon,
                points=score.points,
                totals=self._game.totals,
                absent=tuple(seat for seat in range(len(self._players)) if seat not in self._present),
                missed=tuple(sorted(self._missed)),
                faults=tuple(self._faults),
            )
        )
        if self._plan.format is MatchFormat.GAME and not self._game.over:
            self._start_hand()
            self._deal()
            return
        if self._plan.format is MatchFormat.GAME:
            for player in self._players:
                if player.playing:
                    player.outbox.game_result(self.board, self._game.winners or ())
        self._done = True
        self._floor.board_done(self)


def _shown(cards: Sequence[int]) -> str:
    """What a bot sent, as names where they are cards, cut to a size."""
    names = [str(CARDS[card]) if card < len(CARDS) else str(card) for card in cards[:SHOWN_CARDS]]
    return " ".join(names) + (" ..." if len(cards) > SHOWN_CARDS else "") if names else "nothing"
