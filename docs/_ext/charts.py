"""Draws two kinds of charts as SVG: lines over named places or a logarithmic scale, and groups of bars."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

WIDTH: Final = 680
HEIGHT: Final = 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 20, 62, 48
_COLOURS: Final = ("#2f5d8a", "#c07a2b", "#6b8f4e", "#8a5a83")
_INK: Final = "#22303f"


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """What is measured at each place. None where nothing was."""

    name: str
    values: Sequence[float | None]
    dashed: bool = False
    colour: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A chart with one value a place and series, on a scale from 0 to 1 or a logarithmic one."""

    title: str
    places: Sequence[str]
    below: str
    aside: str
    series: Sequence[Series]
    logarithmic: bool = False


def lines(chart: Chart) -> str:
    """Draw a line a series, with a dot a value."""
    return _framed(chart, [part for one in chart.series for part in _line(chart, one)])


def bars(chart: Chart) -> str:
    """Draw a group of bars a place, with the value above each."""
    return _framed(chart, [part for index in range(len(chart.places)) for part in _group(chart, index)])


def _line(chart: Chart, series: Series) -> Iterator[str]:
    colour = _COLOURS[series.colour]
    points = [(_x(chart, index), _y(chart, value)) for index, value in enumerate(series.values) if value is not None]
    path = " ".join(f"{'M' if index == 0 else 'L'}{x:.1f} {y:.1f}" for index, (x, y) in enumerate(points))
    dashes = ' stroke-dasharray="5 4"' if series.dashed else ""
    yield f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="2"{dashes}/>'
    for x, y in points:
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.2" fill="{colour}"/>'


def _group(chart: Chart, index: int) -> Iterator[str]:
    width = min(46.0, 0.72 * (WIDTH - _LEFT - _RIGHT) / len(chart.places) / len(chart.series))
    begin = _x(chart, index) - width * len(chart.series) / 2
    floor = HEIGHT - _BOTTOM
    for number, series in enumerate(chart.series):
        value = series.values[index]
        if value is None:
            continue
        x, y = begin + number * width, _y(chart, value)
        shape = f'x="{x + 1:.1f}" y="{y:.1f}" width="{width - 2:.1f}" height="{max(floor - y, 0):.1f}"'
        yield f'<rect {shape} fill="{_COLOURS[series.colour]}"/>'
        yield _text(x + width / 2, y - 4, _figure(value), size=10)


def _framed(chart: Chart, content: Sequence[str]) -> str:
    middle = (_LEFT + WIDTH - _RIGHT) / 2
    parts = [
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="12" fill="#ffffff"/>',
        _text(middle, 24, chart.title, weight=600, size=13),
        *_legend(chart, middle),
        *(part for mark in _marks(chart) for part in _grid(chart, mark)),
        *content,
        *(_text(_x(chart, index), HEIGHT - 30, place) for index, place in enumerate(chart.places)),
        _text(middle, HEIGHT - 11, chart.below),
        f'<g transform="translate(17 {(_TOP + HEIGHT - _BOTTOM) / 2}) rotate(-90)">{_text(0, 0, chart.aside)}</g>',
    ]
    font = 'font-family="system-ui, sans-serif" font-size="11"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" {font}>'
    return "\n  ".join([head, f"<title>{escape(chart.title)}</title>", *parts]) + "\n</svg>\n"


def _legend(chart: Chart, middle: float) -> Iterator[str]:
    widths = [38 + 6.4 * len(series.name) for series in chart.series]
    x = middle - sum(widths) / 2
    for series, width in zip(chart.series, widths, strict=True):
        dashes = ' stroke-dasharray="5 4"' if series.dashed else ""
        yield f'<path d="M{x:.1f} 40 h20" stroke="{_COLOURS[series.colour]}" stroke-width="3"{dashes}/>'
        yield _text(x + 25, 44, series.name, anchor="start")
        x += width


def _grid(chart: Chart, mark: float) -> Iterator[str]:
    y = _y(chart, mark)
    yield f'<path d="M{_LEFT} {y:.1f} H{WIDTH - _RIGHT}" stroke="#dfe5ec"/>'
    yield _text(_LEFT - 7, y + 4, _figure(mark), anchor="end")


def _marks(chart: Chart) -> Sequence[float]:
    if not chart.logarithmic:
        return (0, 0.25, 0.5, 0.75, 1)
    low, high = _powers(chart)
    return [10.0**power for power in range(low, high + 1)]


def _powers(chart: Chart) -> tuple[int, int]:
    values = [value for series in chart.series for value in series.values if value]
    return math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))


def _x(chart: Chart, index: int) -> float:
    return _LEFT + (index + 0.5) * (WIDTH - _LEFT - _RIGHT) / len(chart.places)


def _y(chart: Chart, value: float) -> float:
    share = value
    if chart.logarithmic:
        low, high = _powers(chart)
        share = (math.log10(value) - low) / (high - low)
    return HEIGHT - _BOTTOM - share * (HEIGHT - _TOP - _BOTTOM)


def _figure(value: float) -> str:
    """Show whole numbers from a hundred on, three figures above one, and two digits below it."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value >= 1 else f"{value:.2f}".rstrip("0").rstrip(".")


def _text(x: float, y: float, text: str, *, anchor: str = "middle", weight: int = 400, size: int = 11) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text {place} fill="{_INK}" font-size="{size}" font-weight="{weight}">{escape(text)}</text>'
