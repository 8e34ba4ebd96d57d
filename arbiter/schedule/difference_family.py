"""Search for difference families: a few base blocks whose cyclic development is a balanced design.

A *base block* is a set of ``seats`` residues modulo ``n``. Developing it means adding 0, 1, .. n - 1 to each of them,
which gives n matches. Two entrants a and b then meet once for each ordered pair (x, y) of a base block with
x - y = a - b, so how often they meet depends on their *difference* alone. A family of base blocks is balanced within
one when each difference 1 .. n - 1 is covered L or L + 1 times: then each pair meets L or L + 1 times, and each
entrant plays exactly ``seats`` matches for each base block.

With equality everywhere this is the classical (n, k, L) difference family (Colbourn and Dinitz, Handbook of
Combinatorial Designs, 2nd ed., VI.16), which exists for few sizes only. Within one it exists for nearly all.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import pairwise

SECOND_BEST = 0.05
"""How often a step takes a residue that is one worse than the best: enough to leave a dead end, and to settle."""

FORBIDDEN = 1 << 30
"""The charge for a residue that the block already holds."""


def least_blocks(n: int, seats: int, meetings: int) -> int:
    """Return the least number of base blocks that can cover each of the n - 1 differences ``meetings`` times."""
    return -(-meetings * (n - 1) // (seats * (seats - 1)))


def coverage(n: int, blocks: Sequence[Sequence[int]]) -> list[int]:
    """Return how often ordered pairs of ``blocks`` cover each difference 0 .. n - 1 (difference 0: never)."""
    counts = [0] * n
    for block in blocks:
        for x in block:
            for y in block:
                if x != y:
                    counts[(x - y) % n] += 1
    return counts


def develop(n: int, blocks: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
    """Return all n translates of every base block as sorted tuples, translate by translate."""
    return [tuple(sorted((x + shift) % n for x in block)) for shift in range(n) for block in blocks]


def search(n: int, seats: int, blocks: int, *, steps: int, attempt: int) -> list[list[int]] | None:
    """Look for a family of ``blocks`` base blocks that is balanced within one.

    Local search by least conflicts: take one residue out of a block and put in the one that brings the coverage
    nearest to {L, L + 1}, ties broken by chance; now and then the second best. Counting fixes L: the
    ``blocks * seats * (seats - 1)`` ordered pairs fall on n - 1 differences.

    Args:
        n: the modulus, above ``seats``.
        seats: residues in a block.
        blocks: number of base blocks.
        steps: how many residues to replace before giving up; a step costs about ``n * seats`` additions.
        attempt: number of the attempt. The same arguments give the same family on every machine.

    Returns:
        The base blocks, or None when this attempt found no family.
    """
    chance = random.Random(attempt).random  # of random's methods, the one whose sequence Python promises to keep
    low = blocks * seats * (seats - 1) // (n - 1)
    cost = [max(low - count, count - low - 1, 0) ** 2 for count in range(seats * blocks + 3)]
    rise = [after - before for before, after in pairwise(cost)]
    family = [_random_block(n, seats, chance) for _ in range(blocks)]
    counts = coverage(n, family)
    for step in range(steps):
        if not any(cost[count] for count in counts[1:]):
            return family
        block = family[step % blocks]
        place = int(chance() * seats)
        old = block[place]
        others = block[:place] + block[place + 1 :]
        _count(counts, n, old, others, -1)
        # prices[d] is what one more cover of d costs; a residue x is charged prices[x - y] for each other residue y.
        # Row y of the sum is the price list read from -y on, so that its entry x is prices[x - y].
        prices = [rise[count] for count in counts]
        if n % 2 == 0:  # the difference n/2 is its own opposite: one pair covers it twice
            prices[n // 2] = cost[counts[n // 2] + 2] - cost[counts[n // 2]]
        prices += prices
        charges = list(map(sum, zip(*[prices[n - y : 2 * n - y] for y in others], strict=True)))
        for y in others:
            charges[y] = FORBIDDEN
        charges[old] += 1  # of two equally good residues the new one: it keeps the search moving
        limit = min(charges) + (chance() < SECOND_BEST)
        candidates = [x for x, charge in enumerate(charges) if charge <= limit]
        block[place] = candidates[int(chance() * len(candidates))]
        _count(counts, n, block[place], others, 1)
    return None


def _random_block(n: int, seats: int, chance: Callable[[], float]) -> list[int]:
    """Draw distinct residues, by ``chance`` alone."""
    block: list[int] = []
    while len(block) < seats:
        residue = int(chance() * n)
        if residue not in block:
            block.append(residue)
    return block


def _count(counts: list[int], n: int, residue: int, others: Sequence[int], change: int) -> None:
    """Add ``change`` to the coverage of all differences between ``residue`` and ``others``."""
    for y in others:
        counts[(residue - y) % n] += change
        counts[(y - residue) % n] += change
