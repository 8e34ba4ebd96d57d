"""What a process says of itself to programs: metrics, health, and logs as JSON. Knows no other part.

:mod:`~arbiter.telemetry.metrics` holds all metrics, :mod:`~arbiter.telemetry.endpoint` serves them with the process's
health, :mod:`~arbiter.telemetry.logs` sets logging up.
"""

from arbiter.telemetry.endpoint import Check, Endpoint, read_listen
from arbiter.telemetry.logs import log_context, set_up_logging

__all__ = ["Check", "Endpoint", "log_context", "read_listen", "set_up_logging"]
"""Metrics are used by their module: ``metrics.HANDS.inc()``."""
