"""The bots of a gate on this machine: folders, sample bots, versions in its registry, the best of the ladder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from arbiter.cli.demo import sample_bots_folder
from arbiter.engine import EngineError, read_rules
from arbiter.errors import UsageError
from arbiter.match import MatchFormat
from arbiter.packages import Versions
from arbiter.store import Store, UnknownVersion
from arbiter.tournament import SpecError
from arbiter.tournament.gate_request import GateBot
from arbiter.tournament.ladder_top import ladder_top
from arbiter.tournament.naming import active_version, read_ladder_top


def named_bots(store: Store, contents: Versions, names: Sequence[str], rules: str, board_format: str) -> list[GateBot]:
    """The candidate, the baseline and the opponents, as they were named in this order.

    Args:
        store: versions and results of this machine.
        contents: where the content of versions is.
        names: each a folder, a sample bot, ``NAME@N`` or ``NAME@latest``; of the opponents also ``ladder-top:N``.
        rules: a named rule set, whose ladder is meant.
        board_format: its match format.

    Raises:
        UsageError: something is not there.
    """
    candidate, baseline, *opponents = names
    first = _bot(store, contents, candidate, but=set())
    digest = contents.put(first.folder).digest
    second = _bot(store, contents, baseline, but={digest})
    found: list[GateBot] = []
    for name in opponents:
        count = read_ladder_top(name)
        if count is None:
            found.append(_bot(store, contents, name, but=set()))
            continue
        try:
            _, rule_set = read_rules({"name": rules})
        except EngineError as error:
            raise SpecError(str(error)) from error
        but = {(bot.name or "").partition("@")[0] for bot in (first, second)} | {first.folder.name, second.folder.name}
        found += ladder_top(store, contents, rule_set, MatchFormat(board_format), count, but=but)
    return [first, second, *found]


def _bot(store: Store, contents: Versions, named: str, *, but: set[str]) -> GateBot:
    """One bot; ``but`` are digests that ``latest`` does not mean."""
    if Path(named).is_dir():
        return GateBot(Path(named))
    samples = sample_bots_folder()
    if os.sep not in named and (samples / named / "bot.toml").is_file():
        return GateBot(samples / named)
    if "@" in named and os.sep not in named:
        version = active_version(store, named, but=but)
        return GateBot(contents.open(version.built), version.name)
    known = ", ".join(sorted(manifest.parent.name for manifest in samples.glob("*/bot.toml")))
    try:
        hint = f"; write {store.versions.get(named).submission.bot}@latest for the version that was submitted"
    except UnknownVersion:
        hint = ""
    raise UsageError(f"{named}: neither a bot's folder nor a sample bot; those are {known}{hint}")
