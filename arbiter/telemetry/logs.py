"""Logging for services: lines for people, or with ``ARBITER_LOG_FORMAT=json`` JSON lines for programs.

What a line is about (sitting, match, attempt) is set once where work on it begins, and is in every line until its end.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Final

from arbiter.errors import UsageError

_about: Final[ContextVar[Mapping[str, str | int] | None]] = ContextVar("about", default=None)

_TEXT: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"


@contextmanager
def log_context(**fields: str | int) -> Iterator[None]:
    """Add fields to each line that is logged by this task or thread while it is entered."""
    token = _about.set({**(_about.get() or {}), **fields})
    try:
        yield
    finally:
        _about.reset(token)


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time, level, logger, message, what it is about, and an exception's text."""

    def format(self, record: logging.LogRecord) -> str:
        """See logging.Formatter."""
        line: dict[str, str | int] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            "process": record.process or 0,
            **(_about.get() or {}),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line)


class _OneLine(logging.Filter):
    """A library's tale of a connection that broke is one line; where the break is, is said elsewhere."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        outage = isinstance(error, OSError) or type(error).__module__.startswith("redis")
        if record.name.startswith(("kombu", "celery")) and outage:
            record.exc_info = record.exc_text = None
        return True


def set_up_logging(
    environment: Mapping[str, str] = os.environ, text: logging.Handler | None = None, default: str = "INFO"
) -> None:
    """Log to stderr from now on, in the form and from the level that the environment says.

    Args:
        environment: ``ARBITER_LOG_FORMAT`` is ``text`` (default) or ``json``; ``ARBITER_LOG_LEVEL`` names a level.
        text: what writes lines for people, in place of a plain handler.
        default: the level when the environment names none.

    Raises:
        UsageError: a variable is bad; names it.
    """
    form = environment.get("ARBITER_LOG_FORMAT") or "text"
    if form not in ("text", "json"):
        raise UsageError(f"ARBITER_LOG_FORMAT is {form!r}; write text or json")
    level = (environment.get("ARBITER_LOG_LEVEL") or default).upper()
    if level not in ("DEBUG", "INFO", "WARNING", "ERROR"):
        raise UsageError(f"ARBITER_LOG_LEVEL is {level!r}; write DEBUG, INFO, WARNING or ERROR")
    handler = logging.StreamHandler() if form == "json" or text is None else text
    if form == "json":
        handler.setFormatter(JsonFormatter())
    elif text is None:
        handler.setFormatter(logging.Formatter(_TEXT))
    handler.addFilter(_OneLine())
    logging.basicConfig(level=level, handlers=[handler], force=True)
    logging.captureWarnings(True)
    for library in ("celery", "kombu"):  # of each task they would say that it came and went
        logging.getLogger(library).setLevel(logging.WARNING)
