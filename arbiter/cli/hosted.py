"""Plays the tournaments of a service, one after the other, for as long as it serves."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from arbiter.cli.console import errors
from arbiter.cli.gate_view import GateView
from arbiter.cli.local import LocalOptions, RunElsewhere, run_tournament
from arbiter.cli.progress import ProgressView
from arbiter.errors import ArbiterError, InfrastructureError
from arbiter.store import Store, StoreUnavailable, Tournament, TournamentState, TransitionRefused
from arbiter.tournament import TournamentSpec
from arbiter.tournament.gate import GateJudge

log = logging.getLogger(__name__)

TICK: Final = 2.0
"""Seconds between two looks for something to play when nobody said that there is."""


class Hosted:
    """Runs every tournament that is started.

    Args:
        store: plans and results.
        options: how they are run; the number of workers is each tournament's own when it is 0.
    """

    def __init__(self, store: Store, options: LocalOptions) -> None:
        self._store: Final = store
        self._options: Final = options
        self._woken: Final = asyncio.Event()

    def wake(self) -> None:
        """Say that a tournament was started; from the event loop's own thread."""
        self._woken.set()

    async def run(self) -> None:
        """Go on until cancelled. A tournament that is played then goes on when the service starts again."""
        while True:
            self._woken.clear()
            try:
                for tournament in reversed(await asyncio.to_thread(self._store.tournaments)):
                    if tournament.state is TournamentState.RUNNING:
                        await self._play(tournament)
            except (InfrastructureError, OSError) as error:
                log.error("tournaments wait: %s", error)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(TICK):
                    await self._woken.wait()

    async def _play(self, tournament: Tournament) -> None:
        spec = TournamentSpec.from_dict(tournament.spec)
        options = replace(self._options, workers=self._options.workers or spec.workers)

        def begin() -> None:
            errors.print(f"playing {tournament.id}", markup=False, highlight=False)

        try:
            judge = None if spec.gate is None else await asyncio.to_thread(GateJudge.of, self._store, tournament.id)
            view = ProgressView(errors) if judge is None else GateView(errors, judge)
            enough = _never if judge is None else judge.enough
            state = await run_tournament(self._store, tournament.id, options, view, begin, enough, hosted=True)
        except RunElsewhere as error:
            log.info("%s", error)
        except StoreUnavailable:
            raise
        except ArbiterError as error:
            # The host may resume it once the cause is gone. The others are not held up by it.
            log.error("tournament %s is paused: %s", tournament.id, error)
            with contextlib.suppress(TransitionRefused):  # the host was quicker
                self._store.set_state(tournament.id, TournamentState.PAUSED, now=datetime.now(UTC))
        else:
            errors.print(f"{tournament.id} is {state}", markup=False, highlight=False)


def _never() -> bool:
    return False
