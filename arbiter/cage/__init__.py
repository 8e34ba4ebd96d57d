"""Starts and kills bot processes so that they can harm nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from arbiter.cage.bubblewrap import BubblewrapCage
from arbiter.cage.bytecode import uncompiled
from arbiter.cage.cgroups import Usage
from arbiter.cage.errors import CageError
from arbiter.cage.limits import CageSettings, Level, Limits
from arbiter.cage.load import BotLoad, Load, LoadMeter
from arbiter.cage.manifest import Manifest, ManifestError, load_manifest
from arbiter.cage.plain import PlainCage
from arbiter.cage.process import BotProcess, Cage, Exit, Launch
from arbiter.cage.protections import Finding, Protection
from arbiter.cage.runtimes import Runtime, RuntimeMissing, Runtimes, RuntimesError
from arbiter.cage.snapshot import Snapshot, SnapshotError, SnapshotLimits, take_snapshot, verify_snapshot
from arbiter.cage.waiting import first_within

__all__ = [
    "BotLoad",
    "BotProcess",
    "BubblewrapCage",
    "Cage",
    "CageError",
    "CageSettings",
    "Exit",
    "Finding",
    "Launch",
    "Level",
    "Limits",
    "Load",
    "LoadMeter",
    "Manifest",
    "ManifestError",
    "PlainCage",
    "Protection",
    "Runtime",
    "RuntimeMissing",
    "Runtimes",
    "RuntimesError",
    "Snapshot",
    "SnapshotError",
    "SnapshotLimits",
    "Usage",
    "choose_cage",
    "first_within",
    "load_manifest",
    "take_snapshot",
    "uncompiled",
    "verify_snapshot",
]


def choose_cage(unsafe: bool, hidden: Sequence[Path] = (), settings: CageSettings | None = None) -> Cage:
    """The cage for this service: bubblewrap's, or none at all when the host asked for that explicitly.

    Args:
        unsafe: run bots as bare processes; only for bots of one's own.
        hidden: files and folders that no bot may see; without a cage nothing can be hidden.
        settings: what bots may use, what must hold and how bots are started; without a cage the last alone counts.
    """
    return PlainCage(settings) if unsafe else BubblewrapCage(hidden, settings)
