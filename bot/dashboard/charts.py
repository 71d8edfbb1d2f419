"""Charts as SVG: shapes only, styled by classes, with a title for screen readers."""

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from bot.domain.counted import counted

WIDTH, HEIGHT = 640, 180
COLUMN = 40.0
"""Widest column of a day."""
_BAR, _GAP, _LABEL = 18, 8, 200


def shares(title: str, rows: Sequence[tuple[str, int, int]]) -> Markup:
    """Return horizontal bars: a part of a whole, for each row of name, part and whole."""
    most = max((whole for _, _, whole in rows), default=0)
    room = WIDTH - _LABEL - 90
    parts = []
    for number, (name, part, whole) in enumerate(rows):
        y = number * (_BAR + _GAP)
        wide, filled = (round(room * count / most, 1) for count in (whole, part))
        text = f"{part} of {whole}"
        parts.append(
            Markup(
                '<text class="label" x="{x}" y="{middle}" text-anchor="end">{name}</text>'
                '<rect class="whole" x="{start}" y="{y}" width="{wide}" height="{bar}"/>'
                '<rect class="part" x="{start}" y="{y}" width="{filled}" height="{bar}"/>'
                '<text class="value" x="{end}" y="{middle}">{text}</text>'
            ).format(
                x=_LABEL - 10,
                middle=y + 13,
                name=name[:28],
                start=_LABEL,
                y=y,
                wide=wide,
                filled=filled,
                bar=_BAR,
                end=_LABEL + wide + 8,
                text=text,
            )
        )
    return _svg(title, len(rows) * (_BAR + _GAP), parts)


def days(title: str, counts: Mapping[str, tuple[int, int]]) -> Markup:
    """Return columns by day: all missions, and the fixes among them."""
    most = max((whole for whole, _ in counts.values()), default=0)
    step = WIDTH / max(1, len(counts))
    parts = []
    for number, (day, (whole, part)) in enumerate(counts.items()):
        heights = (round((HEIGHT - 20) * count / most, 1) for count in (whole, part))
        for kind, height in zip(("whole", "part"), heights, strict=True):
            parts.append(
                Markup(
                    '<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{height}">'
                    "<title>{day}: {missions}, {part} fixed</title></rect>"
                ).format(
                    kind=kind,
                    x=round(number * step, 1),
                    y=round(HEIGHT - 20 - height, 1),
                    width=round(min(COLUMN, max(1.0, step - 2)), 1),
                    height=height,
                    day=day,
                    missions=counted(whole, "mission"),
                    part=part,
                )
            )
    if counts:
        first, last = min(counts), max(counts)
        for x, anchor, day in ((0, "start", first), (WIDTH, "end", last)):
            parts.append(
                Markup('<text class="label" x="{}" y="{}" text-anchor="{}">{}</text>').format(
                    x, HEIGHT - 4, anchor, day
                )
            )
    return _svg(title, HEIGHT, parts)


def distribution(title: str, values: Sequence[float]) -> Markup:
    """Return the share of values up to each one, as a line; the values must be sorted."""
    if not values:
        return _svg(title, HEIGHT, [])
    base, most = HEIGHT - 20, values[-1] or 1.0
    # At most as many points as there are pixels.
    step = max(1, len(values) // WIDTH)
    chosen = [*range(0, len(values), step), len(values) - 1]
    points = " ".join(
        f"{WIDTH * values[n] / most:.1f},{base - (base - 4) * (n + 1) / len(values):.1f}"
        for n in chosen
    )
    line = Markup('<polyline class="line" points="0,{} {}"/>').format(base, points)
    ends = Markup(
        '<text class="label" x="0" y="{y}">0 s</text>'
        '<text class="label" x="{x}" y="{y}" text-anchor="end">{most} s</text>'
    ).format(y=HEIGHT - 4, x=WIDTH, most=f"{most:.0f}")
    return _svg(title, HEIGHT, [line, ends])


def _svg(title: str, height: int, parts: Sequence[Markup]) -> Markup:
    opened = Markup('<svg role="img" aria-label="{}" viewBox="0 0 {} {}" class="chart">').format(
        title, WIDTH, max(1, height)
    )
    return opened + Markup("").join(parts) + Markup("</svg>")
