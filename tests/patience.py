"""How long tests wait for what must happen."""

from typing import Final

PATIENCE: Final = 240.0
"""Seconds after which a test gives up on what must happen: only a hang takes so long, however busy the machine."""
