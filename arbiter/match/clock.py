"""The clock of one bot process: what it is allowed, what it used, and what was taken from it from outside."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Clock:
    """What a bot process is allowed, in seconds.

    One bank serves all tables of a process: it runs while any request is unanswered, and each answer adds the
    increment.
    """

    start_up: float = 10.0
    """From the start of the process to its greeting; not taken from the bank."""
    bank: float = 60.0
    """Thinking time to begin with."""
    increment: float = 0.1
    """Added by each answer."""
    hard_stop: float = 30.0
    """Longest silence while a request is unanswered, whatever the bank holds."""
    margin: float = 0.1
    """Grace: by how much bank or hard stop may be overdrawn before that is a fault. A bank stays overdrawn."""


@dataclass(frozen=True, slots=True)
class TimeUsed:
    """What a bot used of its clock in a sitting."""

    seconds: float
    """What it is charged with."""
    answers: int
    """Requests that it answered."""
    messages: int
    """In how many messages."""
    given_back: float
    """Seconds that it lost to others on the machine, with which it is not charged."""


class RunningClock:
    """A bot's clock in a sitting. It runs from :meth:`start` to :meth:`stop`.

    Args:
        allowed: what the bot is allowed.
        now: the time in seconds, monotonic.
    """

    def __init__(self, allowed: Clock, now: Callable[[], float] = time.monotonic) -> None:
        self.allowed: Final = allowed
        self.answered = 0
        """Requests answered."""
        self.messages = 0
        """In how many messages."""
        self._now: Final = now
        self._ran = 0.0
        self._since: float | None = None
        self._observed = 0.0  # what the clock had run when give_back was last called
        self._given_back = 0.0
        self._silent_from = 0.0  # what the clock had run at the last word
        self._silence_given_back = 0.0

    def start(self) -> None:
        """A batch with requests is being sent."""
        self._since = self._now()
        self._break_silence()

    @property
    def time_used(self) -> TimeUsed:
        """What has been used so far."""
        return TimeUsed(self.used, self.answered, self.messages, self._given_back)

    def heard(self, answers: int) -> None:
        """A message with this many answers has come."""
        self.answered += answers
        self.messages += 1
        self._break_silence()

    def stop(self) -> None:
        """Nothing that was sent is unanswered."""
        self._ran = self.gross
        self._since = None

    def give_back(self, lost: float, at: float) -> None:
        """Give back what the bot lost, ``lost`` seconds at the most, of the time up to ``at`` since the last ``at``.

        ``at`` is on the clock that ``now`` reads. What has passed since is for the next time: this process may have
        been stopped while it looked at the machine.
        """
        ran = self._ran if self._since is None else self._ran + at - self._since
        back = min(lost, ran - self._observed)
        self._observed = ran
        self._given_back += back
        self._silence_given_back += min(back, ran - self._silent_from)

    @property
    def gross(self) -> float:
        """Seconds for which the clock has run."""
        return self._ran if self._since is None else self._ran + self._now() - self._since

    @property
    def seconds_an_answer(self) -> float:
        """Seconds for which the clock has run for each answer so far; 0 before the first."""
        return self.gross / self.answered if self.answered else 0.0

    @property
    def used(self) -> float:
        """Seconds that the bot is charged with."""
        return self.gross - self._given_back

    @property
    def silence(self) -> float:
        """Seconds of them since its last message, or since it was asked."""
        return self.gross - self._silent_from - self._silence_given_back

    @property
    def bank(self) -> float:
        """Seconds that the bank holds."""
        return self.allowed.bank + self.answered * self.allowed.increment - self.used

    @property
    def patience(self) -> float:
        """Seconds for which the next message is waited for, margin and all; 0 or less when time is up."""
        return min(self.bank, self.allowed.hard_stop - self.silence) + self.allowed.margin

    @property
    def overdrawn(self) -> bool:
        """Whether more is used than bank and margin allow."""
        return self.bank < -self.allowed.margin

    @property
    def lost_share(self) -> float:
        """Share of the time that ran out which was given back: of the silence or of all, whichever is over."""
        if self.bank <= self.allowed.hard_stop - self.silence:
            return self._given_back / self.gross if self._given_back else 0.0
        return self._silence_given_back / (self.gross - self._silent_from) if self._silence_given_back else 0.0

    def why_up(self) -> str:
        """What was used and what was allowed, for people, once time is up."""
        allowed = self.allowed
        back = f" ({self._given_back:.3f} s of starvation not counted)" if self._given_back else ""
        if self.bank <= allowed.hard_stop - self.silence:
            bank = f"its bank of {allowed.bank:g} s + {allowed.increment:g} s for each of {self.answered} answers"
            return f"used {self.used:.3f} s{back}, which is all of {bank}"
        return f"silent for the hard stop of {allowed.hard_stop:g} s, used {self.used:.3f} s in all{back}"

    def _break_silence(self) -> None:
        self._silent_from = self.gross
        self._silence_given_back = 0.0
