"""Runs one gate in the foreground, on this machine: check, plan, play until there is a verdict, and say it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime

from arbiter.cli.console import errors
from arbiter.cli.event import GATE, EventOptions, exists, open_store, resume_command
from arbiter.cli.gate_outputs import Outputs, tell
from arbiter.cli.gate_view import GateView
from arbiter.cli.local import LocalOptions, bots_of, cancelled_by_sigterm, check_bots, run_tournament
from arbiter.errors import InfrastructureError, UsageError
from arbiter.packages import Versions
from arbiter.service.gate_messages import report_message
from arbiter.store import Entrant, Store, TournamentState
from arbiter.tournament import TournamentSpec, enter, new_id
from arbiter.tournament.gate import GateJudge, GateReport, Reason, Verdict
from arbiter.tournament.gate_planning import CANDIDATE, gate_matches, plan_gate
from arbiter.tournament.gate_request import NAME, GateRequest, gate_spec


def start_gate(request: GateRequest, max_boards: int, options: EventOptions, outputs: Outputs) -> int:
    """Check the bots, write the plan and play it; returns the exit status.

    The candidate is not tried out beforehand: when it does not start, the gate says so with its log.
    """
    spec = gate_spec(request)
    assert spec.gate is not None
    blocks = max_boards // (spec.boards * spec.gate.tables)
    with open_store(options.data) as store, asyncio.Runner() as runner:
        local = options.local(spec)
        bots = bots_of(store, local.data)
        entrants = enter(spec.entrants, bots)
        gate = new_id(NAME, {tournament.id for tournament in store.tournaments()})
        tournament, matches = plan_gate(gate, spec, entrants, blocks, datetime.now(UTC))
        tried = set(spec.sides_of(entrants)[CANDIDATE].entrants)
        runner.run(_checked([each for each in entrants if each.index not in tried], local, bots, spec))

        def write_plan() -> None:
            store.create_tournament(tournament, entrants, matches, spec.seatings.sittings(spec.rules))

        judge = GateJudge(store, gate, spec, entrants, blocks)
        return _play(runner, store, gate, judge, options, local, outputs, write_plan)


def resume_gate(prefix: str, max_boards: int | None, options: EventOptions, outputs: Outputs) -> int:
    """Go on with a gate that was stopped, up to more boards if that is asked for; one that is over is shown.

    Returns:
        The exit status.

    Raises:
        UsageError: it is cancelled, or ``max_boards`` can't be had any more.
    """
    with open_store(options.data) as store, asyncio.Runner() as runner:
        tournament = store.find_tournament(prefix)
        judge = GateJudge.of(store, tournament.id)
        if tournament.state is TournamentState.CANCELLED:
            raise UsageError(f"gate {tournament.id} is cancelled; start another one")
        blocks = judge.blocks if max_boards is None else _blocks_for(judge, max_boards)
        if tournament.state is TournamentState.COMPLETED:
            if blocks > judge.blocks:
                raise UsageError(f"--max-boards {max_boards}: gate {tournament.id} is over; start another one")
            return _tell(judge.report(), options, outputs, 0.0)
        spec = TournamentSpec.from_dict(tournament.spec)
        local = options.local(spec)
        if blocks == judge.blocks:
            return _play(runner, store, tournament.id, judge, options, local, outputs)
        entrants = store.entrants(tournament.id)
        longer = gate_matches(spec, entrants, tournament.deal_seed, range(judge.blocks, blocks))

        def extend_plan() -> None:
            if store.tournament(tournament.id).state is not TournamentState.RUNNING:
                store.set_state(tournament.id, TournamentState.RUNNING, now=datetime.now(UTC))
            store.extend_tournament(tournament.id, longer, spec.seatings.sittings(spec.rules))

        further = GateJudge(store, tournament.id, spec, entrants, blocks)
        return _play(runner, store, tournament.id, further, options, local, outputs, extend_plan)


def _blocks_for(judge: GateJudge, max_boards: int) -> int:
    """Blocks of a gate that has so many boards at the most; raises `UsageError` when more are planned already."""
    blocks = max_boards // judge.block_boards
    if blocks < judge.blocks:
        planned = judge.blocks * judge.block_boards
        raise UsageError(f"--max-boards {max_boards}: {planned} boards are planned already; leave it out, or give more")
    return blocks


def _play(
    runner: asyncio.Runner,
    store: Store,
    gate: str,
    judge: GateJudge,
    options: EventOptions,
    local: LocalOptions,
    outputs: Outputs,
    begin: Callable[[], None] = lambda: None,
) -> int:
    started = time.monotonic()
    reason = Reason.STOPPED
    try:
        in_time = runner.run(_until_end(store, gate, judge, local, outputs.time_limit, begin))
        reason = Reason.STOPPED if in_time else Reason.TIME_LIMIT
    except (KeyboardInterrupt, asyncio.CancelledError):
        if not exists(store, gate):
            raise
    except InfrastructureError as error:
        if not exists(store, gate):
            raise
        report = judge.report().stopped(Reason.INFRASTRUCTURE)
        if report.verdict is Verdict.NONE:
            trouble = f"{error}; to go on: {resume_command(gate, options, GATE)}"
            _tell(report, options, outputs, time.monotonic() - started, trouble)
            raise InfrastructureError(trouble) from error
    report = judge.report().stopped(reason)
    status = _tell(report, options, outputs, time.monotonic() - started)
    if report.reason in (Reason.STOPPED, Reason.TIME_LIMIT):
        errors.print("Nothing that was recorded is lost; to go on:")
        command = resume_command(gate, options, GATE)
        errors.print(f"  {command}", style="bold", markup=False, highlight=False, soft_wrap=True)
    return status


async def _checked(entrants: list[Entrant], local: LocalOptions, bots: Versions, spec: TournamentSpec) -> None:
    with cancelled_by_sigterm():
        await check_bots(entrants, local, bots, [spec.clock_of(entrant.index).start_up for entrant in entrants])


async def _until_end(
    store: Store,
    gate: str,
    judge: GateJudge,
    local: LocalOptions,
    time_limit: float | None,
    begin: Callable[[], None],
) -> bool:
    """Play until there is a verdict or nothing is left; False when the time was over before."""
    with cancelled_by_sigterm():
        try:
            async with asyncio.timeout(time_limit) as limit:
                await run_tournament(store, gate, local, GateView(errors, judge), begin, judge.enough)
        except TimeoutError:
            if not limit.expired():
                raise
            return False
    return True


def _tell(
    report: GateReport, options: EventOptions, outputs: Outputs, seconds: float, trouble: str | None = None
) -> int:
    return tell(report_message(report), outputs, seconds, json=options.json, trouble=trouble)
