"""Tries new versions out, as `arbiter bot check` does, in every rule set that the service plays."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from arbiter.cage import Cage, load_manifest
from arbiter.engine import RuleSet
from arbiter.match.trial import validate
from arbiter.registry.life import Validation


class Validator:
    """Plays sittings of a version against stand-ins.

    Args:
        cage: where bots are put.
        rule_sets: what is played, by name.
    """

    def __init__(self, cage: Cage, rule_sets: Mapping[str, RuleSet]) -> None:
        self._cage: Final = cage
        self._rule_sets: Final = dict(rule_sets)

    async def __call__(self, folder: Path) -> Validation:
        """Try out the bot in a folder.

        Raises:
            CageError, Starved: the machine is at fault.
        """
        found = await validate(folder, load_manifest(folder), self._rule_sets, self._cage)
        detail = found.reasons[0] if found.reasons else "played " + ", ".join(self._rule_sets)
        log = "".join(f"{trial.rules}: {trial.ending}\n{trial.log}" for trial in found.trials)
        return Validation(found.ok, detail, log, tuple(self._rule_sets))
