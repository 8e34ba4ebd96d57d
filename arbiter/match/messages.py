"""The plan of a sitting as the workers' messages and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from arbiter.api.game.v1 import match_pb2
from arbiter.api.worker.v1 import worker_pb2
from arbiter.deals import Seatings, SeatingsKind
from arbiter.match.clock import Clock
from arbiter.match.plan import FaultPolicy, MatchFormat, PlanError, SeatedBot, SittingPlan
from arbiter.wire import rules_from_message, rules_to_message

_FORMATS: Final[Mapping[int, MatchFormat]] = {
    match_pb2.MatchFormat.Value(f"MATCH_FORMAT_{kind.name}"): kind for kind in MatchFormat
}

_POLICIES: Final[Mapping[int, FaultPolicy]] = {
    match_pb2.FaultPolicy.Value(f"FAULT_POLICY_{kind.name}"): kind for kind in FaultPolicy
}

_SEATINGS: Final[Mapping[int, SeatingsKind]] = {
    match_pb2.SeatingsKind.Value(f"SEATINGS_KIND_{kind.name}"): kind for kind in SeatingsKind
}


def clock_to_message(clock: Clock) -> match_pb2.Clock:
    """The clock as a message."""
    message = match_pb2.Clock()
    message.start_up.FromNanoseconds(round(clock.start_up * 1e9))
    message.bank.FromNanoseconds(round(clock.bank * 1e9))
    message.increment.FromNanoseconds(round(clock.increment * 1e9))
    message.hard_stop.FromNanoseconds(round(clock.hard_stop * 1e9))
    message.margin.FromNanoseconds(round(clock.margin * 1e9))
    return message


def clock_from_message(message: match_pb2.Clock) -> Clock:
    """The clock that a message holds."""
    return Clock(
        start_up=message.start_up.ToNanoseconds() / 1e9,
        bank=message.bank.ToNanoseconds() / 1e9,
        increment=message.increment.ToNanoseconds() / 1e9,
        hard_stop=message.hard_stop.ToNanoseconds() / 1e9,
        margin=message.margin.ToNanoseconds() / 1e9,
    )


def plan_to_message(plan: SittingPlan) -> worker_pb2.SittingPlan:
    """The plan as a message."""
    return worker_pb2.SittingPlan(
        sitting=plan.sitting,
        rules=rules_to_message(plan.rules),
        format=match_pb2.MatchFormat.Value(f"MATCH_FORMAT_{plan.format.name}"),
        boards=plan.boards,
        deal_seed=plan.deal_seed,
        seating=plan.seating,
        seatings_kind=match_pb2.SeatingsKind.Value(f"SEATINGS_KIND_{plan.seatings.kind.name}"),
        seatings_count=plan.seatings.count,
        players=[
            worker_pb2.Player(
                entrant=bot.entrant,
                name=bot.name,
                digest=bot.digest,
                bot_seed=bot.bot_seed,
                clock=clock_to_message(bot.clock),
            )
            for bot in plan.bots
        ],
        open_tables=plan.open_tables,
        fault_limit=plan.fault_limit,
        fault_policy=match_pb2.FaultPolicy.Value(f"FAULT_POLICY_{plan.fault_policy.name}"),
        early_end=plan.early_end,
    )


def plan_from_message(message: worker_pb2.SittingPlan) -> SittingPlan:
    """The plan that a message holds.

    Raises:
        RuleSetError: it holds no possible rule set.
        PlanError: it can't be played as it is.
    """
    if message.format not in _FORMATS:
        raise PlanError(f"sitting {message.sitting}: match format {message.format} is unknown here")
    if message.seatings_kind not in _SEATINGS:
        raise PlanError(f"sitting {message.sitting}: the kind of seatings {message.seatings_kind} is unknown here")
    if message.fault_policy not in _POLICIES:
        raise PlanError(f"sitting {message.sitting}: fault policy {message.fault_policy} is unknown here")
    return SittingPlan(
        sitting=message.sitting,
        rules=rules_from_message(message.rules),
        format=_FORMATS[message.format],
        boards=message.boards,
        deal_seed=message.deal_seed,
        seating=message.seating,
        seatings=Seatings(_SEATINGS[message.seatings_kind], message.seatings_count),
        bots=tuple(
            SeatedBot(player.entrant, player.name, player.digest, player.bot_seed, clock_from_message(player.clock))
            for player in message.players
        ),
        open_tables=message.open_tables,
        fault_limit=message.fault_limit,
        fault_policy=_POLICIES[message.fault_policy],
        early_end=message.early_end,
    )
