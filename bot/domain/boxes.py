"""Tick boxes of the dashboard issue: each one stands for a command at a place. Pure."""

import re
from urllib.parse import quote, unquote

from pydantic import Field, ValidationError

from bot.domain.command import Verb
from bot.domain.request import SHA
from sandbox.types import Frozen

DASHBOARD_MARKER = "<!-- metaagent:dashboard"
"""Begins the hidden marker in the text of a dashboard issue."""
_LINE = re.compile(
    # At the start of a line, where no text of other people can be.
    r"^- \[(?P<mark>[ xX])\] (?P<row><!-- metaagent:do=(?P<box>[\w.%~]{1,2000}) --> .{0,4000})$",
    re.MULTILINE,
)


class Box(Frozen):
    """The command of a tick box, as the fields of `Command`."""

    verb: Verb
    target: str = Field(default="", max_length=500)
    options: dict[str, str] = Field(default_factory=dict, max_length=5)
    number: int | None = None
    """The pull request; None for the branch, or for the dashboard issue itself."""
    head_sha: str | None = Field(default=None, pattern=SHA)
    head_branch: str | None = Field(default=None, max_length=300)

    def row(self, text: str) -> str:
        """Return the unticked line of a list; the text must be one line, and escaped."""
        content = quote(self.model_dump_json(exclude_defaults=True), safe="")
        # Two hyphens in a row would end the comment for GitHub's Markdown.
        return f"- [ ] <!-- metaagent:do={content.replace('-', '%2D')} --> {text}"


def ticked_rows(body: str) -> tuple[str, ...]:
    """Return the ticked lines of a text, without their ticks."""
    # A browser sends the text with CRLF.
    found = _LINE.finditer(body.replace("\r\n", "\n"))
    return tuple(f"- [ ] {one['row']}" for one in found if one["mark"] != " ")


def read_box(row: str) -> Box | None:
    """Return the command of a line; None if it has none."""
    found = _LINE.fullmatch(row)
    try:
        return Box.model_validate_json(unquote(found["box"])) if found else None
    except ValidationError:
        return None
