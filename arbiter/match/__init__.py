"""Plays a sitting between links under clocks and records the replay.

:func:`play_sitting` is the entry; :mod:`arbiter.match.table` is one board's course, :mod:`arbiter.match.player` one
bot's side of the stream, :mod:`arbiter.match.replay` what is kept, :mod:`arbiter.match.packed` how it travels,
:mod:`arbiter.match.verify` the check of it,
:mod:`arbiter.match.trial` what a bot has to pass before it plays.
"""

from arbiter.engine.build import PACKAGE, is_compiled
from arbiter.match.clock import Clock
from arbiter.match.faults import Fault
from arbiter.match.messages import plan_from_message, plan_to_message
from arbiter.match.packed import pack_replay, unpack_replay
from arbiter.match.plan import FaultPolicy, MatchFormat, PlanError, SeatedBot, SittingPlan
from arbiter.match.record import HandRecord
from arbiter.match.replay import Replay, ReplayError, hand_to_dict, read_replay, replay_of, write_replay
from arbiter.match.sitting import SittingRecord, play_sitting
from arbiter.match.stand_in import StandInBot
from arbiter.match.starvation import Starved
from arbiter.match.tally import HandTally, tally
from arbiter.match.trial import Trial, Validation, fault_line, try_out, validate
from arbiter.match.verify import SeatScore, check_planned, verify_replay

is_compiled(PACKAGE, "match")  # or else it refuses

__all__ = [
    "Clock",
    "Fault",
    "FaultPolicy",
    "HandRecord",
    "HandTally",
    "MatchFormat",
    "PlanError",
    "Replay",
    "ReplayError",
    "SeatScore",
    "SeatedBot",
    "SittingPlan",
    "SittingRecord",
    "StandInBot",
    "Starved",
    "Trial",
    "Validation",
    "check_planned",
    "fault_line",
    "hand_to_dict",
    "pack_replay",
    "plan_from_message",
    "plan_to_message",
    "play_sitting",
    "read_replay",
    "replay_of",
    "tally",
    "try_out",
    "unpack_replay",
    "validate",
    "verify_replay",
    "write_replay",
]
