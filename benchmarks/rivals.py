"""What other programs for the same job take, each in a process of its own: ``python -m benchmarks.rivals NAME``.

It runs in any environment that has the rival; it needs nothing of the project. All play with random bots, so that the
time is the program's own.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

UCI_ENGINE: Final = """
import sys
answers = {"uci": "uciok", "isready": "readyok", "go": "bestmove e2e4"}
for line in sys.stdin:
    word = line.split()[0]
    if word == "quit":
        break
    if word in answers:
        print(answers[word], flush=True)
"""
"""An engine that answers at once."""


class _PythonRandom:
    """Python's generator with the one method that OpenSpiel's bots ask of NumPy's."""

    def __init__(self) -> None:
        self._random = random.Random(1)

    def choice(self, choices: Sequence[Any], p: Sequence[float] | None = None) -> Any:
        return self._random.choice(choices) if p is None else self._random.choices(choices, weights=p)[0]


def openspiel_loop(hands: int) -> dict[str, float]:
    """OpenSpiel's states in a bare Python loop: the legal actions, one of them applied."""
    import pyspiel

    game = pyspiel.load_game("hearts")
    draw = random.Random(1).random
    watch = _Watch()
    for _ in range(hands):
        state = game.new_initial_state()
        while actions := state.legal_actions():
            state.apply_action(actions[int(draw() * len(actions))])
        state.returns()
    return watch.rate(hands)


def evaluate_bots(hands: int, rng: Any) -> dict[str, float]:
    """OpenSpiel's ``evaluate_bots`` with its Python random bots."""
    import pyspiel
    from open_spiel.python.algorithms.evaluate_bots import evaluate_bots
    from open_spiel.python.bots.uniform_random import UniformRandomBot

    game = pyspiel.load_game("hearts")
    bots = [UniformRandomBot(seat, rng) for seat in range(4)]
    evaluate_bots(game.new_initial_state(), bots, rng)
    watch = _Watch()
    for _ in range(hands):
        evaluate_bots(game.new_initial_state(), bots, rng)
    return watch.rate(hands)


def evaluate_bots_numpy(hands: int) -> dict[str, float]:
    """The same drawing from NumPy's generator, as OpenSpiel's own examples do."""
    import numpy

    return evaluate_bots(hands, numpy.random.RandomState(1))


def evaluate_bots_python(hands: int) -> dict[str, float]:
    """The same drawing from Python's generator, which is quicker."""
    return evaluate_bots(hands, _PythonRandom())


def openspiel_cpp(hands: int) -> dict[str, float]:
    """OpenSpiel with bots and loop in C++."""
    import pyspiel

    game = pyspiel.load_game("hearts")
    bots = [pyspiel.make_uniform_random_bot(seat, seat) for seat in range(4)]
    watch = _Watch()
    for number in range(hands):
        pyspiel.evaluate_bots(game.new_initial_state(), bots, number)
    return watch.rate(hands)


def kaggle(hands: int) -> dict[str, float]:
    """kaggle-environments' ``open_spiel_hearts`` with its random agents: all four are called at every step."""
    from kaggle_environments import make

    environment = make("open_spiel_hearts", configuration={"includeLegalActions": True})
    steps = 0
    environment.run(["random"] * 4)
    watch = _Watch()
    for _ in range(hands):
        environment.reset()
        environment.run(["random"] * 4)
        steps += len(environment.steps)
    found = watch.rate(hands)
    return {**found, "microseconds_per_step": hands / found["hands_per_second"] / (4 * steps) * 1e6}


def python_chess(moves: int) -> dict[str, float]:
    """python-chess's engine protocol with an engine that answers at once."""
    import chess
    import chess.engine

    async def play() -> float:
        _, engine = await chess.engine.popen_uci([sys.executable, "-c", UCI_ENGINE])
        board = chess.Board()
        limit = chess.engine.Limit(nodes=1)
        await engine.play(board, limit)
        started = time.perf_counter()
        for _ in range(moves):
            await engine.play(board, limit)
        seconds = time.perf_counter() - started
        await engine.quit()
        return seconds

    return {"microseconds_per_step": asyncio.run(play()) / moves * 1e6}


RIVALS: Final[dict[str, tuple[Callable[[int], dict[str, float]], int]]] = {
    "OpenSpiel, bare Python loop": (openspiel_loop, 3000),
    "OpenSpiel, evaluate_bots, Python's random": (evaluate_bots_python, 400),
    "OpenSpiel, evaluate_bots, NumPy's random": (evaluate_bots_numpy, 200),
    "OpenSpiel, bots and loop in C++": (openspiel_cpp, 5000),
    "kaggle-environments, open_spiel_hearts": (kaggle, 3),
    "python-chess, UCI": (python_chess, 1000),
}
"""By name: how it is measured, and how many hands or moves take about a second or less."""


class _Watch:
    """Reads wall and CPU time from here on."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def rate(self, hands: int) -> dict[str, float]:
        """What so many hands took."""
        wall, cpu = time.perf_counter() - self._wall, time.process_time() - self._cpu
        return {"hands_per_second": hands / wall, "cpu_microseconds": cpu / hands * 1e6}


def main() -> int:
    """Measure one rival and print JSON; exit status 4 when it is not installed here."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rivals", description="Measure another program.")
    parser.add_argument("name", choices=RIVALS)
    options = parser.parse_args()
    measure, size = RIVALS[options.name]
    try:
        print(json.dumps(measure(size)))
    except ImportError as error:
        print(f"{options.name}: not installed here: {error}", file=sys.stderr)
        return 4
    return 0


if __name__ == "__main__":
    sys.exit(main())
