"""Draws lines with a legend as an SVG, without a library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

WIDTH: Final = 720
HEIGHT: Final = 380
LEFT: Final = 64
RIGHT: Final = 210
TOP: Final = 56
BOTTOM: Final = 56


@dataclass(frozen=True, slots=True)
class Line:
    """One line and its entry in the legend."""

    label: str
    points: Sequence[tuple[float, float]]
    colour: str
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis: its title and where its marks are, the first and the last being its ends."""

    title: str
    marks: Sequence[float]

    def share(self, value: float) -> float:
        """Where a value lies, from 0 to 1."""
        return (value - self.marks[0]) / (self.marks[-1] - self.marks[0])


def draw_lines(lines: Sequence[Line], across: Axis, up: Axis, title: str) -> str:
    """A whole SVG document."""

    def x(value: float) -> float:
        return LEFT + across.share(value) * (WIDTH - LEFT - RIGHT)

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - up.share(value) * (HEIGHT - TOP - BOTTOM)

    left, right, top, bottom = x(across.marks[0]), x(across.marks[-1]), y(up.marks[-1]), y(up.marks[0])
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
        ' font-family="sans-serif" font-size="13" fill="#222">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        f'<text x="16" y="30" font-size="17" font-weight="bold">{escape(title)}</text>',
    ]
    for mark in across.marks:
        parts.append(f'<line x1="{x(mark):.1f}" y1="{top:.1f}" x2="{x(mark):.1f}" y2="{bottom:.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{x(mark):.1f}" y="{bottom + 18:.1f}" text-anchor="middle">{mark:g}</text>')
    for mark in up.marks:
        parts.append(f'<line x1="{left:.1f}" y1="{y(mark):.1f}" x2="{right:.1f}" y2="{y(mark):.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{left - 8:.1f}" y="{y(mark) + 5:.1f}" text-anchor="end">{mark:g}</text>')
    middle = (left + right) / 2
    parts.append(f'<text x="{middle:.1f}" y="{HEIGHT - 14}" text-anchor="middle">{escape(across.title)}</text>')
    parts.append(f'<text x="16" y="{TOP - 8}" font-style="italic">{escape(up.title)}</text>')
    for number, line in enumerate(lines):
        dash = ' stroke-dasharray="5 4"' if line.dashed else ""
        stroke = f'stroke="{line.colour}" stroke-width="2" fill="none"{dash}'
        path = " ".join(f"{x(across_):.1f},{y(up_):.1f}" for across_, up_ in line.points)
        row = TOP + 10 + 22 * number
        parts += [
            f'<polyline points="{path}" {stroke}/>',
            f'<path d="M{right + 14:.1f} {row}h24" {stroke}/>',
            f'<text x="{right + 44:.1f}" y="{row + 5}">{escape(line.label)}</text>',
        ]
    return "\n".join([*parts, "</svg>\n"])
