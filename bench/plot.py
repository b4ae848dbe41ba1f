"""Draw a goal's figures as SVG: a row for each, a dot for each round, a bar at the median; pure."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from bench.goal import DIFFERENCE, OURS, RATIO, THEIRS

_WIDTH, _LEFT, _RIGHT, _TOP, _ROW = 760, 250, 90, 62, 30
_COLOURS = {OURS: "#0b6e4f", THEIRS: "#8a8d91"}
_OTHER = "#3a6ea5"


def svg(result: Mapping[str, Any]) -> str:
    """Render the figures that share the goal's unit on one axis from 0; without a unit, each has its own."""
    rows = {k: v for k, v in result["figures"].items() if k not in (RATIO, DIFFERENCE)}
    end = max((figure["max"] for figure in rows.values()), default=0.0)
    parts = []
    for number, (key, figure) in enumerate(rows.items()):
        most = end if result["unit"] else figure["max"]
        parts.append(_row(_TOP + number * _ROW, key, figure, most, result["unit"]))
    height = _TOP + len(rows) * _ROW + 14
    for aim in result["aims"]:
        if aim["figure"] == OURS and result["unit"] and 0 < aim["most"] <= end:
            x = _x(aim["most"], end)
            parts.append(
                f'<line x1="{x}" x2="{x}" y1="{_TOP - 14}" y2="{height - 12}" stroke="#b3261e"'
                ' stroke-dasharray="4 3"/>'
            )
    head = _text(12, 22, f"{result['name']}: {result['what']}", size=14, weight="bold")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}"'
        f' viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif">\n'
        f'<rect width="100%" height="100%" fill="#fff"/>\n{head}\n'
        f"{_text(12, 40, _subtitle(result), size=11, fill='#555')}\n"
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def _subtitle(result: Mapping[str, Any]) -> str:
    words = [f"baseline: {result['beside']}"] if result["beside"] else []
    if RATIO in result["figures"]:
        words.append(f"ratio {result['figures'][RATIO]['median']:.3g}")
    words += [
        f"{aim['figure']} ≤ {aim['most']:g} {'met' if aim['met'] else 'missed'}"
        for aim in result["aims"]
    ]
    words.append(f"{result['rounds']} rounds")
    return "; ".join([*words, "noisy machine"] if result["noisy"] else words)


def _row(y: int, key: str, figure: Mapping[str, Any], most: float, unit: str) -> str:
    colour = _COLOURS.get(key, _OTHER)
    middle = _x(figure["median"], most)
    dots = "".join(
        f'<circle cx="{_x(value, most)}" cy="{y}" r="3.5" fill="{colour}" fill-opacity="0.5"/>'
        for value in figure["values"]
    )
    label = f"{figure['median']:.3g} {unit}".strip()
    return (
        f"{_text(12, y + 4, key.strip(' …'), size=12)}"
        f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y}" y2="{y}" stroke="#ddd"/>{dots}'
        f'<line x1="{middle}" x2="{middle}" y1="{y - 9}" y2="{y + 9}" stroke="{colour}"'
        f' stroke-width="2.5"/>{_text(_WIDTH - _RIGHT + 10, y + 4, label, size=12)}'
    )


def _x(value: float, most: float) -> float:
    """Place a value; one below 0 stands at 0."""
    share = min(max(value / most, 0.0), 1.0) if most > 0 else 0.0
    return round(_LEFT + share * (_WIDTH - _RIGHT - _LEFT), 1)


def _text(
    x: int, y: int, words: str, *, size: int, weight: str = "normal", fill: str = "#111"
) -> str:
    return (
        f'<text x="{x}" y="{y}" font-size="{size}" font-weight="{weight}" fill="{fill}">'
        f"{escape(words)}</text>"
    )
