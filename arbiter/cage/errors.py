"""The error of this part."""

from __future__ import annotations

from arbiter.errors import InfrastructureError


class CageError(InfrastructureError):
    """A cage can't be built on this machine, or not around this bot; no bot is to blame."""
