"""The best of the ladder, as opponents."""

from __future__ import annotations

from collections.abc import Collection

from arbiter.engine import RuleSet
from arbiter.errors import UsageError
from arbiter.match import MatchFormat
from arbiter.packages import Versions as Contents
from arbiter.store import Store, Version, VersionState
from arbiter.tournament.evidence import ladder_ratings
from arbiter.tournament.gate_request import GateBot
from arbiter.tournament.naming import bot_name
from arbiter.tournament.spec import TournamentSpec


def ladder_top(
    store: Store,
    contents: Contents,
    rules: RuleSet,
    match_format: MatchFormat,
    count: int,
    *,
    but: Collection[str] = (),
    not_of: Collection[str] = (),
) -> list[GateBot]:
    """The best bots by the ladder of a rule set and match format: one version each, of other bots and owners than those
    that ask.

    Args:
        store: versions and results.
        contents: where the content of versions is.
        rules: the rule set.
        match_format: its format.
        count: how many at the most.
        but: names of bots that are not meant.
        not_of: owners that are not meant.

    Raises:
        UsageError: there is none.
    """
    submitted = store.versions.versions()
    versions = {version.built: version for version in submitted if version.state is VersionState.ACTIVE}
    taken_back = {version.built for version in submitted} - versions.keys()
    names = _names(store, rules, match_format)
    found: dict[str, GateBot] = {}
    for rating in sorted(ladder_ratings(store, rules, match_format).values(), key=lambda each: -each.at_least):
        version = versions.get(rating.version)
        if rating.version not in names or rating.version in taken_back or not rating.hands:
            continue
        name = names[rating.version]
        bot = _bot(version, name)
        if bot in but or bot in found or (version is not None and version.submission.owner in not_of):
            continue
        found[bot] = GateBot(contents.open(rating.version), name if version is None else version.name)
        if len(found) == count:
            break
    if not found:
        raise UsageError("opponents: nobody else's bot has played in the ladder of these rules; name some")
    return list(found.values())


def _names(store: Store, rules: RuleSet, match_format: MatchFormat) -> dict[str, str]:
    """The name of what was entered anywhere, by digest."""
    found: dict[str, str] = {}
    for tournament in store.tournaments():
        spec = TournamentSpec.from_dict(tournament.spec)
        if (spec.rules, spec.match_format) == (rules, match_format):
            for entrant in store.entrants(tournament.id):
                found.setdefault(entrant.digest, entrant.name)
    return found


def _bot(version: Version | None, name: str) -> str:
    return bot_name(name) if version is None else version.submission.bot
