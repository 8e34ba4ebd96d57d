"""Draws ratings with their intervals beside the truth as an SVG, without a library."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

WIDTH: Final = 720
HEIGHT: Final = 400
LEFT: Final = 64
RIGHT: Final = 24
TOP: Final = 84
BOTTOM: Final = 44
BLUE: Final = "#1f4e8c"
RED: Final = "#c0392b"


@dataclass(frozen=True, slots=True)
class Mark:
    """One bot."""

    rating: float
    half_width: float
    """Half its 95 % interval."""
    truth: float


def draw(marks: Sequence[Mark], title: str) -> str:
    """One column per bot, in the order given. Returns a whole SVG document."""
    most = math.ceil(max(max(abs(mark.rating) + mark.half_width, abs(mark.truth)) for mark in marks))

    def x(place: int) -> float:
        return LEFT + (place + 0.5) / len(marks) * (WIDTH - LEFT - RIGHT)

    def y(value: float) -> float:
        return TOP + (most - value) / (2 * most) * (HEIGHT - TOP - BOTTOM)

    held = sum(abs(mark.rating - mark.truth) <= mark.half_width for mark in marks)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
        ' font-family="sans-serif" font-size="13" fill="#222">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        f'<text x="16" y="30" font-size="17" font-weight="bold">{escape(title)}</text>',
        f'<circle cx="22" cy="54" r="4" fill="{BLUE}"/>',
        f'<text x="34" y="59">rating with its 95 % interval; {held} of {len(marks)} hold the truth</text>',
        f'<path d="M{WIDTH - 180} 54h14" stroke="{RED}" stroke-width="3"/>',
        f'<text x="{WIDTH - 158}" y="59">true rating</text>',
    ]
    for value in range(-most, most + 1):
        stroke = "#999" if value == 0 else "#ddd"
        parts.append(
            f'<line x1="{LEFT}" y1="{y(value):.1f}" x2="{WIDTH - RIGHT}" y2="{y(value):.1f}" stroke="{stroke}"/>'
        )
        parts.append(
            f'<text x="{LEFT - 8}" y="{y(value) + 5:.1f}" text-anchor="end">{value:+d}</text>'.replace("+0<", "0<")
        )
    for place, mark in enumerate(marks):
        at, low, high = x(place), y(mark.rating - mark.half_width), y(mark.rating + mark.half_width)
        parts += [
            f'<path d="M{at:.1f} {low:.1f}V{high:.1f}" stroke="{BLUE}" stroke-width="2"/>',
            f'<circle cx="{at:.1f}" cy="{y(mark.rating):.1f}" r="3.5" fill="{BLUE}"/>',
            f'<path d="M{at - 6:.1f} {y(mark.truth):.1f}h12" stroke="{RED}" stroke-width="3"/>',
        ]
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{HEIGHT - 14}" text-anchor="middle">bots, by true rating</text>')
    parts.append(
        f'<text x="16" y="{(TOP + HEIGHT - BOTTOM) / 2:.0f}" text-anchor="middle"'
        f' transform="rotate(-90 16 {(TOP + HEIGHT - BOTTOM) / 2:.0f})">points per hand</text>'
    )
    return "\n".join([*parts, "</svg>\n"])
