"""What the caller of a gate says, turned into the spec of its plan."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from arbiter.cage import load_manifest
from arbiter.deals import sides_per_match
from arbiter.engine import EngineError, read_rules
from arbiter.tournament.gate_planning import opponent_groups
from arbiter.tournament.gate_terms import Form, GateTerms, Mode, Unit, usual_hypotheses
from arbiter.tournament.spec import SpecError, TournamentSpec, parse_spec
from arbiter.verdict import Hypotheses

NAME: Final = "gate"
"""What gates are called in the list of tournaments."""

_NAME_LENGTH: Final = 40


@dataclass(frozen=True, slots=True)
class GateBot:
    """A bot of a gate.

    Attributes:
        folder: where it is.
        name: what it is called, such as ``mybot@3``; None for its manifest's name.
    """

    folder: Path
    name: str | None = None


@dataclass(frozen=True, slots=True)
class GateRequest:
    """A gate as it is asked for.

    Attributes:
        candidate: the bot that has to pass.
        baseline: the bot that it is compared with.
        opponents: who else sits at the table; too few are entered several times.
        rules: a ``[rules]`` table of a tournament file.
        match: a ``[match]`` table; ``boards`` are those of one group of opponents in a block.
        mode: the question.
        form: the test.
        unit: what counts as one observation.
        alpha: how often a candidate that is not better may pass, at the most.
        beta: how often one that is better by ``delta1`` may fail, at the most.
        delta0: improvement in points per hand under the null hypothesis; None for the usual one.
        delta1: the same under the alternative.
        workers: worker processes.
        deal_seed: 64 hexadecimal digits, or None for a random one.
    """

    candidate: GateBot
    baseline: GateBot
    opponents: tuple[GateBot, ...]
    rules: Mapping[str, Any] = field(default_factory=dict)
    match: Mapping[str, Any] = field(default_factory=dict)
    mode: Mode = Mode.SUPERIORITY
    form: Form = Form.SPRT
    unit: Unit = Unit.BOARD
    alpha: float = 0.05
    beta: float = 0.05
    delta0: float | None = None
    delta1: float | None = None
    workers: int = 2
    deal_seed: str | None = None


def gate_spec(request: GateRequest) -> TournamentSpec:
    """The spec of a gate: candidate, baseline and opponents in this order, each with a copy for every partner.

    Raises:
        SpecError: something in it is impossible.
        ManifestError: a folder is not a bot's.
        VerdictError: hypotheses or error rates of which no test can be made.
    """
    if not request.opponents:
        raise SpecError("opponents: there are none; name one at least")
    try:
        _, rules = read_rules(request.rules)
    except EngineError as error:
        raise SpecError(str(error)) from error
    sides = sides_per_match(rules)
    partners = rules.players // sides
    opponents = list(itertools.islice(itertools.cycle(request.opponents), max(len(request.opponents), sides - 1)))
    names = _Names()
    entrants: list[dict[str, Any]] = []
    for number, bot in enumerate([request.candidate, request.baseline, *opponents]):
        own = bot.name or load_manifest(bot.folder).name
        side = names.take(own, "@baseline" if number == 1 else "")
        for partner in range(partners):
            entrant = {
                "bot": str(bot.folder.absolute()),
                "name": side if partner == 0 else names.take(side, "-partner"),
            }
            entrants.append(entrant if rules.teams is None else {**entrant, "side": side})
    data: dict[str, Any] = {
        "name": NAME,
        "workers": request.workers,
        "rules": dict(request.rules),
        "match": dict(request.match),
        "entrants": entrants,
    }
    if request.deal_seed is not None:
        data["deal_seed"] = request.deal_seed
    spec = parse_spec(data, Path())
    delta0, delta1 = _deltas(request, spec)
    terms = GateTerms(
        mode=request.mode,
        form=request.form,
        unit=request.unit,
        hypotheses=Hypotheses(delta0, delta1, request.alpha, request.beta),
        tables=len(opponent_groups(len(opponents), sides - 1)),
    )
    terms.new_test(spec.rules, spec.boards * terms.tables)  # refuses what no hand can give
    return replace(spec, gate=terms)


def _deltas(request: GateRequest, spec: TournamentSpec) -> tuple[float, float]:
    """Both hypotheses, the usual ones where none are given."""
    usual0, usual1 = usual_hypotheses(request.mode, spec.rules)
    return (
        usual0 if request.delta0 is None else request.delta0,
        usual1 if request.delta1 is None else request.delta1,
    )


class _Names:
    """Names of entrants, each once."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def take(self, name: str, mark: str = "") -> str:
        """The name, with the mark or a number behind it where it is taken."""
        wanted = name if name not in self._taken else _joined(name, mark or "-2")
        number = 2
        while wanted in self._taken:
            number += 1
            wanted = _joined(name, f"{mark}-{number}")
        self._taken.add(wanted)
        return wanted


def _joined(name: str, mark: str) -> str:
    return name[: _NAME_LENGTH - len(mark)] + mark
