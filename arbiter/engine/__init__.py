"""The game itself, pure: cards, rule sets as data, hands, games and what one seat may see.

Nothing here knows a clock, a file, a network or a source of randomness: state goes in, state comes out.
Start reading at :mod:`arbiter.engine.ruleset` (what the rules are) and :mod:`arbiter.engine.hand` (how a hand is
played).
"""

from arbiter.engine.build import COMPILED, StaleBuildError
from arbiter.engine.cards import CARDS, Card, Rank, Suit, cards_of, format_cards, mask_of, parse_cards
from arbiter.engine.catalog import OPTIONS, RULE_SETS, rule_set
from arbiter.engine.claims import is_settled
from arbiter.engine.custom import NamedRules, read_rules, rules_table
from arbiter.engine.errors import CardSyntaxError, EngineError, IllegalPass, IllegalPlay, RuleSetError
from arbiter.engine.game import (
    GameState,
    MoonChoice,
    NextDeal,
    after_hand,
    best_seats,
    moon_choice,
    new_game,
    next_deal,
    still_tied,
)
from arbiter.engine.hand import Hand, Phase, Trick, new_hand
from arbiter.engine.passing import check_pass, exchange, pass_direction, pass_target
from arbiter.engine.playout import Taken, play_out
from arbiter.engine.rules import Rules, compile_rules
from arbiter.engine.ruleset import Moon, PassDirection, RuleSet
from arbiter.engine.scoring import HandScore, moon_shooter, score_hand
from arbiter.engine.view import PassView, PlayColumns, PlayView, pass_view, play_columns, play_view

__all__ = [
    "CARDS",
    "COMPILED",
    "OPTIONS",
    "RULE_SETS",
    "Card",
    "CardSyntaxError",
    "EngineError",
    "GameState",
    "Hand",
    "HandScore",
    "IllegalPass",
    "IllegalPlay",
    "Moon",
    "MoonChoice",
    "NamedRules",
    "NextDeal",
    "PassDirection",
    "PassView",
    "Phase",
    "PlayColumns",
    "PlayView",
    "Rank",
    "RuleSet",
    "RuleSetError",
    "Rules",
    "StaleBuildError",
    "Suit",
    "Taken",
    "Trick",
    "after_hand",
    "best_seats",
    "cards_of",
    "check_pass",
    "compile_rules",
    "exchange",
    "format_cards",
    "is_settled",
    "mask_of",
    "moon_choice",
    "moon_shooter",
    "new_game",
    "new_hand",
    "next_deal",
    "parse_cards",
    "pass_direction",
    "pass_target",
    "pass_view",
    "play_columns",
    "play_out",
    "play_view",
    "read_rules",
    "rule_set",
    "rules_table",
    "score_hand",
    "still_tied",
]
