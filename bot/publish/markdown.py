"""Safe Markdown: untrusted text in code spans, fences or escaped; sections cut to a limit."""

import re
from collections.abc import Sequence

from pydantic import Field

from sandbox.gate import Needles, clean, for_markdown
from sandbox.types import Frozen

BODY_LIMIT = 65_536
"""GitHub's limit for a comment, a pull request body and each text of a check run, in characters."""
LONG_WORD = 20
"""Longest word shown outside of code, in characters; a longer one is an identifier or a path."""

_TICKS = re.compile(r"`+")
# GitHub turns these into mentions, references and links.
_REFERENCE = re.compile(r"([@#])(?=\w)|\b(GH)-(?=\d)|(:)(?=//)")
_SKIP_CI = re.compile(
    r"\[(skip[ -]ci|ci[ -]skip|no[ -]ci|skip[ -]actions|actions[ -]skip)\]|\*\*\*NO_CI\*\*\*",
    re.IGNORECASE,
)
# A backslash before a span would be read as its escape.
_SPAN = re.compile(r"(?<![`\\])`([^`]*[^`\s][^`]*)`(?!`)")
_WORD = re.compile(r"[^\s\ue000\ue001]+")
_KEPT = re.compile(r"\ue000(\d+)\ue001")
_DOTTED = re.compile(r"[A-Za-z]\w*(?:\.\w{2,})+(?:\(\))?")
_AROUND_WORD = ".,;:!?()[]{}<>\"'\u2026"
_URL = re.compile(r"https?://[A-Za-z0-9.-]+(?::\d+)?(?:/[A-Za-z0-9._~/?=&%#:+-]*)?")


class SafeWriter(Frozen):
    """Writes untrusted text in forms that cannot become markup.

    Every method first sanitizes its text: control and hidden characters, secrets and length.
    """

    secrets: Needles = Field(default=Needles(), repr=False)

    def line(self, text: str, *, cap: int = 300) -> str:
        """Return one sanitized, unescaped line for a code span or the terminal."""
        return " ".join(clean(text, cap=cap, secrets=self.secrets).split())

    def block(self, text: str, *, cap: int = 60_000) -> str:
        """Return sanitized, unescaped lines for a fence or the terminal."""
        return clean(text, cap=cap, secrets=self.secrets).strip("\n")

    def code(self, text: str, *, cap: int = 300) -> str:
        """Return a code span of one line, safe in a table cell."""
        line = self.line(text, cap=cap).replace("|", "\\|")
        if not line:
            return "-"
        # One backtick more than any run inside: the text cannot close the span.
        ticks = "`" * (_longest_run(line) + 1)
        pad = " " if line.startswith("`") or line.endswith("`") else ""
        return f"{ticks}{pad}{line}{pad}{ticks}"

    def prose(self, text: str, *, cap: int = 2000) -> str:
        """Return a paragraph of one line without Markdown meaning."""
        return for_markdown(self.line(text, cap=cap))

    def words(self, text: str, *, cap: int = 2000) -> str:
        """Return a paragraph like `prose`, with code spans kept and identifiers as code."""
        spans: list[str] = []

        def keep(code: str) -> str:
            spans.append(self.code(code, cap=cap))
            # The gate removes private-use characters, so these two come from here only.
            return f"\ue000{len(spans) - 1}\ue001"

        def keep_identifier(found: re.Match[str]) -> str:
            word = found.group()
            core = word.strip(_AROUND_WORD)
            is_name = "_" in core or _DOTTED.fullmatch(core)
            if not core or not (is_name or len(core) > LONG_WORD):
                return word
            before, _, after = word.partition(core)
            return f"{before}{keep(core)}{after}"

        marked = _SPAN.sub(lambda found: keep(found[1]), self.line(text, cap=cap))
        # A lone backtick has no meaning, and escaped it still confuses some renderers.
        marked = _WORD.sub(keep_identifier, marked.replace("`", "'"))
        return _KEPT.sub(lambda found: spans[int(found[1])], for_markdown(marked))

    def link(self, text: str, url: str | None) -> str:
        """Return a link, or only its text if the address has characters that could end the link."""
        shown, address = self.prose(text, cap=200), self.line(url or "", cap=500)
        return f"[{shown}]({address})" if _URL.fullmatch(address) else shown

    def title(self, text: str, *, cap: int = 120) -> str:
        """Return one line for a commit or title, where escapes do not work.

        References, mentions and CI switches are broken up.
        """
        plain = _SKIP_CI.sub("(skip)", self.line(text, cap=cap))
        return _REFERENCE.sub(
            lambda found: f"{found.group(1) or found.group(2) or found.group(3)} ", plain
        )


class Section(Frozen):
    """A part of a report. Only `body` may be cut; the text around it stays complete."""

    title: str = ""
    lead: str = ""
    """Trusted or escaped text."""
    before: str = ""
    body: str = ""
    after: str = ""
    folded: bool = False

    def render(self) -> str:
        """Return it as Markdown."""
        inner = "\n\n".join(
            part for part in (self.lead, f"{self.before}{self.body}{self.after}") if part
        )
        if self.folded:
            return f"<details><summary>{self.title}</summary>\n\n{inner}\n\n</details>"
        return f"### {self.title}\n\n{inner}" if self.title else inner


def fenced(
    title: str, text: str, *, info: str = "text", lead: str = "", folded: bool = False
) -> Section:
    """Return a section with a fenced body that no content can close."""
    # One backtick more than any run inside: the text cannot close the fence.
    fence = "`" * max(3, _longest_run(text) + 1)
    return Section(
        title=title,
        lead=lead,
        before=f"{fence}{info}\n",
        body=text,
        after=f"\n{fence}",
        folded=folded,
    )


def table(
    title: str, header: Sequence[str], rows: Sequence[Sequence[str]], *, folded: bool = False
) -> Section:
    """Return a section with a table body; cells must be escaped."""
    head = f"| {' | '.join(header)} |\n|{' --- |' * len(header)}\n"
    return Section(
        title=title,
        before=head,
        body="\n".join(f"| {' | '.join(row)} |" for row in rows),
        folded=folded,
    )


def bullets(title: str, items: Sequence[str], *, folded: bool = False) -> Section:
    """Return a section with a list body; items must be escaped."""
    return Section(title=title, body="\n".join(f"- {item}" for item in items), folded=folded)


def fit(sections: Sequence[Section], *, limit: int, ending: str = "") -> str:
    """Join the sections within `limit` bytes, and so within as many characters.

    Long bodies are cut to a common length, at the end of a line.

    Args:
        sections: In reading order.
        limit: Maximum number of bytes in UTF-8.
        ending: Kept complete (the hidden marker).

    Returns:
        Markdown with all fences and folds closed.
    """
    parts = list(sections)
    while parts:
        most = max(len(part.body) for part in parts)
        if _size(text := _join(parts, ending)) <= limit:
            return text
        if _size(_cut(parts, 0, ending)) <= limit:
            # Binary search for the longest common length that fits.
            low, high = 0, most
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (
                    (middle, high) if _size(_cut(parts, middle, ending)) <= limit else (low, middle)
                )
            return _cut(parts, low, ending)
        parts.pop()  # only our own headings are left to cut
    return ending[:limit]


def _size(text: str) -> int:
    return len(text.encode(errors="replace"))


def _cut(sections: Sequence[Section], most: int, ending: str) -> str:
    return _join([_shorten(section, most) for section in sections], ending)


def _shorten(section: Section, most: int) -> Section:
    """Return the section with a body of limited length."""
    if len(section.body) <= most:
        return section
    notice = f"\n… cut: {len(section.body)} characters in full"
    keep = section.body[: max(0, most - len(notice))]
    if not section.after:
        # Half a line could leave a code span open; only a fence may be cut anywhere.
        keep = keep[: max(0, keep.rfind("\n"))]
    return section.with_(body=keep + notice if keep else "")


def _join(sections: Sequence[Section], ending: str) -> str:
    return "\n\n".join(
        part for part in (*(section.render() for section in sections), ending) if part
    )


def _longest_run(text: str) -> int:
    return max((len(run) for run in _TICKS.findall(text)), default=0)
