"""Pages from templates. Every value is escaped; the only markup from code is our own charts."""

import hashlib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from jinja2 import ChainableUndefined, Environment, FileSystemLoader
from markupsafe import Markup, escape

from bot import __version__
from bot.domain.counted import counted
from bot.domain.mission import Outcome
from sandbox.gate import clean

HERE = Path(__file__).parent
STATIC = {
    "dashboard.css": "text/css",
    "dashboard.js": "text/javascript",
    "dashboard.svg": "image/svg+xml",
}
"""The files that pages load, with their types."""
BASE = "/dashboard"
TEXT_CHARS = 200_000
"""Longest text in a page, in characters."""
_GOOD = frozenset({Outcome.FIXED.value, "merged"})
_BAD = frozenset({Outcome.ERROR.value, Outcome.ENV_UNBUILDABLE.value, "reverted", "closed"})
_ASKS = frozenset({Outcome.NEEDS_HUMAN.value, Outcome.PARTIAL.value, "open"})


class DiffLine(NamedTuple):
    """A line of a diff with its kind, a class of the style sheet; both are escaped."""

    kind: Markup
    text: Markup


def _sanitized(value: object) -> object:
    """Return a value without control and hidden characters, whatever stored it."""
    if type(value) is str:
        return clean(value, cap=TEXT_CHARS)
    return value


@lru_cache(maxsize=1)
def environment() -> Environment:
    """Return the templates."""
    found = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        # Details of other versions may lack a value: it is shown as empty.
        undefined=ChainableUndefined,
        finalize=_sanitized,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {
        "counted": counted,
        "moment": moment,
        "seconds": seconds,
        "usd": usd,
        "tone": tone,
        "path": path,
        "percent": percent,
        "diff": diff_lines,
        "words": words,
        "kinds": kinds,
        "ticks": ticks,
    }
    found.globals |= {
        "base": BASE,
        "version": __version__,
        "static": static_url,
        "address": address,
        "outcomes": [one.value for one in Outcome],
    }
    return found


def render(template: str, **values: Any) -> str:
    """Return a page."""
    return environment().get_template(template).render(**values)


@lru_cache(maxsize=len(STATIC))
def static_file(name: str) -> tuple[bytes, str]:
    """Return the content of a file, and its version."""
    content = (HERE / "static" / name).read_bytes()
    return content, hashlib.sha256(content).hexdigest()[:12]


def static_url(name: str) -> str:
    """Return the address of a file; it changes with the content, so browsers may keep it."""
    return f"{BASE}/static/{name}?v={static_file(name)[1]}"


def address(page: str, **query: Any) -> str:
    """Return the address of a page with a query; empty values are left out."""
    given = {name: value for name, value in query.items() if value not in {None, ""}}
    return f"{BASE}/{page}" + (f"?{urlencode(given)}" if given else "")


def path(text: object) -> str:
    """Return a text as one segment of a path."""
    return quote(str(text), safe="")


def moment(text: str) -> str:
    """Return a stored time, shortened."""
    return text[:19].replace("T", " ") if text else ""


def seconds(value: float | None) -> str:
    """Return a duration in words."""
    if value is None:
        return "\N{EN DASH}"
    if value < 60:  # noqa: PLR2004 -- a minute
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def usd(value: float | None) -> str:
    """Return an amount; an unknown one is never shown as zero."""
    if value is None:
        return "unknown"
    return f"${value:.2f}" if value >= 1 or not value else f"${value:.4f}"


def percent(value: float | None) -> str:
    """Return a share."""
    return "\N{EN DASH}" if value is None else f"{value:.0%}"


def words(text: object) -> str:
    """Return an identifier of ours as words."""
    return str(text).replace("_", " ").replace("-", " ")


def kinds(templates: str) -> str:
    """Return the templates of a fix as words, each once: `undo_part+undo_part` is one."""
    return ", ".join(dict.fromkeys(words(one) for one in templates.split("+")))


def ticks(text: str) -> Markup:
    """Return a title with its code between backticks as code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # a backtick without a partner
        return Markup.escape(_sanitized(text))
    code = Markup("<code>{}</code>")
    shown = []
    for number, part in enumerate(map(_sanitized, parts)):
        shown.append(code.format(part) if number % 2 else escape(part))
    return Markup("").join(shown)


def tone(text: object) -> str:
    """Return the class of the style sheet for an outcome or a fate."""
    name = str(text)
    for chosen, kind in ((_GOOD, "good"), (_BAD, "bad"), (_ASKS, "asks")):
        if name in chosen:
            return kind
    return "active" if name in {"waiting", "running"} else "plain"


def diff_lines(text: str) -> Iterator[DiffLine]:
    """Yield the lines of a diff with their kinds.

    It is sanitized as a whole: line by line took 16 us for each of up to 50,000 lines.
    """
    for line in clean(text, cap=TEXT_CHARS).splitlines():
        if line.startswith(("diff ", "index ", "--- ", "+++ ", "new file", "deleted file")):
            kind = "file"
        elif line.startswith("@@"):
            kind = "place"
        else:
            kind = {"+": "added", "-": "removed"}.get(line[:1], "same")
        yield DiffLine(kind=escape(kind), text=escape(line))
