"""Errors of the game: bad notation, impossible rule sets, and moves that the rules refuse."""

from __future__ import annotations

from arbiter.errors import UsageError


class EngineError(UsageError):
    """Root of the game's errors."""


class CardSyntaxError(EngineError):
    """Text that names no card, such as ``1X``; ``QS``, ``TD`` and ``2C`` do."""


class RuleSetError(EngineError):
    """A parameter outside its allowed values, or two that contradict; ``parameter`` names the first of them."""

    def __init__(self, parameter: str, reason: str) -> None:
        super().__init__(f"rule set parameter {parameter!r}: {reason}")
        self.parameter = parameter
        self.reason = reason


class IllegalPlay(EngineError):
    """A card that may not be played now; ``revoke`` when it failed to follow suit though able."""

    def __init__(self, reason: str, *, revoke: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.revoke = revoke


class IllegalPass(EngineError):
    """Cards that may not be passed; ``code`` is ``wrong_count``, ``duplicate`` or ``not_in_hand``."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason
