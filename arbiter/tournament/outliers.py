"""Which workers differ from the others by more than chance allows: they lose sittings, bots fail there, or are slow.

One faulty machine must not pass for faulty bots (https://github.com/official-stockfish/fishtest/issues/100,
https://github.com/official-stockfish/fishtest/issues/2425). For each worker three numbers of sittings are compared with
those of all others:

* of the attempts that ended, those that were *lost*: their lease ended without a word, or they were given back because
  the machine failed;
* of the sittings that were recorded, those with a *fault* of any bot;
* of those whose thinking times are known, the *slow* ones: the median over the sitting's bots of (seconds per answer,
  over the same bot's median over all sittings) is above `SLOW`. Medians, so that neither one bot nor one bad moment
  decides, and each bot is compared with itself alone.

Each is the same question: of N sittings K are bad, and a worker has had n of them, k of which are bad. Were all workers
alike, k would be drawn from the hypergeometric distribution (Fisher's exact test, one-sided). The worker is marked when
P(k or more) is below `CHANCE` over the number of comparisons, so that among sound workers anybody at all is marked in
one tournament of a hundred at the most (Bonferroni). Exact, so it holds for few sittings as well as for many.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

from arbiter.store import AttemptFacts, AttemptOutcome

SLOW: Final = 1.5
"""How many times as long as usual the bots of a slow sitting take for an answer."""

CHANCE: Final = 0.01
"""Probability of marking any of a tournament's workers though all are alike, at the most."""

_LOST: Final = (AttemptOutcome.LOST, AttemptOutcome.INFRASTRUCTURE)
_OPEN: Final = (AttemptOutcome.RUNNING, AttemptOutcome.RECALLED)


@dataclass(frozen=True, slots=True)
class Share:
    """So many of so many sittings."""

    bad: int
    of: int
    outlying: bool
    """More than chance allows, as the others have it."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data for ``--json``."""
        return {"bad": self.bad, "of": self.of, "outlying": self.outlying}


@dataclass(frozen=True, slots=True)
class WorkerReport:
    """What became of the sittings that one worker had."""

    worker: str
    lost: Share
    faulty: Share
    slow: Share

    @property
    def outlying(self) -> bool:
        """Whether it differs from the others in anything."""
        return self.lost.outlying or self.faulty.outlying or self.slow.outlying

    def to_dict(self) -> dict[str, Any]:
        """Plain data for ``--json``."""
        return {
            "worker": self.worker,
            "lost": self.lost.to_dict(),
            "faulty": self.faulty.to_dict(),
            "slow": self.slow.to_dict(),
        }


def worker_reports(attempts: Sequence[AttemptFacts]) -> tuple[WorkerReport, ...]:
    """One for each worker, by name."""
    names = sorted({attempt.worker for attempt in attempts})
    slowness = _slowness(attempts)
    ended = [attempt for attempt in attempts if attempt.outcome not in _OPEN]
    recorded = [attempt for attempt in ended if attempt.outcome is AttemptOutcome.RECORDED]
    lost = _shares(names, ended, lambda attempt: attempt.outcome in _LOST)
    faulty = _shares(names, recorded, lambda attempt: attempt.faults > 0)
    slow = _shares(names, [each for each in recorded if each in slowness], lambda attempt: slowness[attempt] > SLOW)
    return tuple(WorkerReport(name, lost[name], faulty[name], slow[name]) for name in names)


def at_least(bad: int, of: int, bad_in_all: int, in_all: int) -> float:
    """P(X >= `bad`) for X drawn from the hypergeometric distribution: `of` of `in_all` sittings are drawn, of which
    `bad_in_all` are bad."""
    whole = _log_choose(in_all, of)
    return math.fsum(
        math.exp(_log_choose(bad_in_all, hit) + _log_choose(in_all - bad_in_all, of - hit) - whole)
        for hit in range(max(bad, of - (in_all - bad_in_all)), min(of, bad_in_all) + 1)
    )


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def _shares(
    names: Sequence[str], attempts: Iterable[AttemptFacts], is_bad: Callable[[AttemptFacts], bool]
) -> dict[str, Share]:
    counts = {name: [0, 0] for name in names}
    for attempt in attempts:
        counts[attempt.worker][0] += is_bad(attempt)
        counts[attempt.worker][1] += 1
    bad_in_all, in_all = (sum(count[part] for count in counts.values()) for part in (0, 1))
    allowed = CHANCE / (3 * max(1, len(names)))
    return {
        name: Share(bad, of, bad > 0 and at_least(bad, of, bad_in_all, in_all) < allowed)
        for name, (bad, of) in counts.items()
    }


def _slowness(attempts: Iterable[AttemptFacts]) -> dict[AttemptFacts, float]:
    """By attempt whose times are known, how many times as long as usual its bots took for an answer."""
    known = {
        attempt: {entrant: seconds / answers for entrant, seconds, answers in attempt.times if answers and seconds > 0}
        for attempt in attempts
        if attempt.outcome is AttemptOutcome.RECORDED
    }
    of_entrant: dict[int, list[float]] = defaultdict(list)
    for times in known.values():
        for entrant, each in times.items():
            of_entrant[entrant].append(each)
    usual = {entrant: median(found) for entrant, found in of_entrant.items()}
    return {
        attempt: median(each / usual[entrant] for entrant, each in times.items())
        for attempt, times in known.items()
        if times
    }
