"""Is it better? Sequential tests on paired differences: pure functions, evaluated block by block in schedule order."""

from arbiter.verdict.betting import Betting
from arbiter.verdict.estimate import Estimate, estimate
from arbiter.verdict.gsprt import Gsprt
from arbiter.verdict.sequential import Answer, Hypotheses, Scale, SequentialTest, VerdictError, decide

__all__ = [
    "Answer",
    "Betting",
    "Estimate",
    "Gsprt",
    "Hypotheses",
    "Scale",
    "SequentialTest",
    "VerdictError",
    "decide",
    "estimate",
]
