"""Safe pieces of Markdown: foreign text stands gated in code spans or fences, or escaped; sections fit a limit."""

import re
from collections.abc import Sequence

from pydantic import Field

from sandbox.gate import Needles, clean, for_markdown
from sandbox.types import Frozen

BODY_LIMIT = 65_536
"""Characters GitHub takes in a comment, a pull request's body and each text of a check run."""

_TICKS = re.compile(r"`+")
_REFERENCE = re.compile(r"([@#])(?=\w)|\b(GH)-(?=\d)|(:)(?=//)")
_SKIP_CI = re.compile(
    r"\[(skip[ -]ci|ci[ -]skip|no[ -]ci|skip[ -]actions|actions[ -]skip)\]|\*\*\*NO_CI\*\*\*", re.IGNORECASE
)


class Pen(Frozen):
    """Writes foreign text in forms that cannot become markup.

    Every method gates its text first (control and hidden characters, secrets, length).
    """

    secrets: Needles = Field(default=Needles(), repr=False)

    def line(self, text: str, *, cap: int = 300) -> str:
        """One gated line, without any escaping: for a code span or the terminal."""
        return " ".join(clean(text, cap=cap, secrets=self.secrets).split())

    def block(self, text: str, *, cap: int = 60_000) -> str:
        """Gated lines, without any escaping: for a fence or the terminal."""
        return clean(text, cap=cap, secrets=self.secrets).strip("\n")

    def code(self, text: str, *, cap: int = 300) -> str:
        """A code span of one line; safe in a table's cell too."""
        line = self.line(text, cap=cap).replace("|", "\\|")
        if not line:
            return "-"
        ticks = "`" * (_longest_run(line) + 1)
        pad = " " if line.startswith("`") or line.endswith("`") else ""
        return f"{ticks}{pad}{line}{pad}{ticks}"

    def prose(self, text: str, *, cap: int = 2000) -> str:
        """A paragraph of one line that means nothing to a Markdown reader."""
        return for_markdown(self.line(text, cap=cap))

    def title(self, text: str, *, cap: int = 120) -> str:
        """One line for a commit or a title, where nothing can be escaped: references and CI switches are broken up."""
        plain = _SKIP_CI.sub("(skip)", self.line(text, cap=cap))
        return _REFERENCE.sub(lambda found: f"{found.group(1) or found.group(2) or found.group(3)} ", plain)


class Section(Frozen):
    """A part of a report. Only `body` may be cut; what stands around it always closes."""

    title: str = ""
    lead: str = ""
    """Our own words, or text that is safe already."""
    before: str = ""
    body: str = ""
    after: str = ""
    folded: bool = False

    def render(self) -> str:
        """As Markdown."""
        inner = "\n\n".join(part for part in (self.lead, f"{self.before}{self.body}{self.after}") if part)
        if self.folded:
            return f"<details><summary>{self.title}</summary>\n\n{inner}\n\n</details>"
        return f"### {self.title}\n\n{inner}" if self.title else inner


def fenced(title: str, text: str, *, info: str = "text", lead: str = "", folded: bool = False) -> Section:
    """A section whose body is a fence no content can close."""
    fence = "`" * max(3, _longest_run(text) + 1)
    return Section(title=title, lead=lead, before=f"{fence}{info}\n", body=text, after=f"\n{fence}", folded=folded)


def table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]], *, folded: bool = False) -> Section:
    """A section whose body is a table; cells must be safe already."""
    head = f"| {' | '.join(header)} |\n|{' --- |' * len(header)}\n"
    return Section(title=title, before=head, body="\n".join(f"| {' | '.join(row)} |" for row in rows), folded=folded)


def bullets(title: str, items: Sequence[str], *, folded: bool = False) -> Section:
    """A section whose body is a list; items must be safe already."""
    return Section(title=title, body="\n".join(f"- {item}" for item in items), folded=folded)


def fit(sections: Sequence[Section], *, limit: int, ending: str = "") -> str:
    """All sections and the ending within `limit` characters; long bodies are cut to one length, at a line's end.

    Args:
        sections: In the order they are read.
        limit: Characters.
        ending: Always kept whole (the hidden marker).

    Returns:
        Markdown in which every fence and every fold is closed.
    """
    parts = list(sections)
    while parts:
        most = max(len(part.body) for part in parts)
        if len(text := _join(parts, ending)) <= limit:
            return text
        if len(_cut(parts, 0, ending)) <= limit:
            low, high = 0, most
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if len(_cut(parts, middle, ending)) <= limit else (low, middle)
            return _cut(parts, low, ending)
        parts.pop()  # nothing left to cut but our own headings
    return ending[:limit]


def _cut(sections: Sequence[Section], most: int, ending: str) -> str:
    return _join([_shortened(section, most) for section in sections], ending)


def _shortened(section: Section, most: int) -> Section:
    """The section with a body of at most so many characters."""
    if len(section.body) <= most:
        return section
    notice = f"\n… cut: {len(section.body)} characters in full"
    keep = section.body[: max(0, most - len(notice))]
    if not section.after:
        # Half a line could leave a code span open; only a fence may be cut anywhere.
        keep = keep[: max(0, keep.rfind("\n"))]
    return section.with_(body=keep + notice if keep else "")


def _join(sections: Sequence[Section], ending: str) -> str:
    return "\n\n".join(part for part in (*(section.render() for section in sections), ending) if part)


def _longest_run(text: str) -> int:
    return max((len(run) for run in _TICKS.findall(text)), default=0)
