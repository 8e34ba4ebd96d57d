"""Draws bars with intervals as an SVG, without a library."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Final

WIDTH: Final = 720
LEFT: Final = 150
RIGHT: Final = 90
TOP: Final = 56
BAR: Final = 24
STEP: Final = 34
GAP: Final = 44
COLOURS: Final = ("#9aa5b1", "#4c86c6", "#1f4e8c")


def draw(groups: Mapping[str, Sequence[tuple[str, float, float]]], title: str) -> str:
    """Horizontal bars by group: label, length from 0, half-width of its interval. Returns a whole SVG document."""
    most = max(length + spread for bars in groups.values() for _, length, spread in bars)
    step = _tick(most)
    end = math.ceil(most / step) * step
    height = TOP + sum(GAP + STEP * len(bars) for bars in groups.values()) + 40

    def x(value: float) -> float:
        return LEFT + value / end * (WIDTH - LEFT - RIGHT)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
        ' font-family="sans-serif" font-size="13" fill="#222">',
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
        f'<text x="16" y="30" font-size="17" font-weight="bold">{escape(title)}</text>',
    ]
    bottom = height - 34
    for tick in range(round(end / step) + 1):
        at = x(tick * step)
        parts.append(f'<line x1="{at:.1f}" y1="{TOP}" x2="{at:.1f}" y2="{bottom}" stroke="#ddd"/>')
        parts.append(f'<text x="{at:.1f}" y="{bottom + 18}" text-anchor="middle">{tick * step:,.0f}</text>')
    y = TOP
    for group, bars in groups.items():
        parts.append(f'<text x="16" y="{y + 28}" font-style="italic">{escape(group)}</text>')
        y += GAP
        for (label, length, spread), colour in zip(bars, COLOURS, strict=True):
            middle = y + BAR / 2
            low, high = x(length - spread), x(length + spread)
            parts += [
                f'<text x="{LEFT - 8}" y="{middle + 5:.1f}" text-anchor="end">{escape(label)}</text>',
                f'<rect x="{LEFT}" y="{y}" width="{x(length) - LEFT:.1f}" height="{BAR}" fill="{colour}"/>',
                f'<path d="M{low:.1f} {middle}H{high:.1f}M{low:.1f} {y + 7}v10M{high:.1f} {y + 7}v10"'
                ' stroke="#222" stroke-width="1.5" fill="none"/>',
                f'<text x="{high + 8:.1f}" y="{middle + 5:.1f}" font-weight="bold">{length:,.0f}</text>',
            ]
            y += STEP
    return "\n".join([*parts, "</svg>\n"])


def _tick(most: float) -> float:
    """A round distance of marks, of which some five fit."""
    size = 10.0 ** math.floor(math.log10(most))
    return size / 5 if most / size < 2 else size / 2 if most / size < 5 else size
