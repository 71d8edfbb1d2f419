"""What a step of a workflow leaves with its runner: summary, annotations, outputs; foreign text is never a command."""

import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TextIO

from bot.domain.github import CheckAnnotation
from bot.publish.check_run import annotations
from bot.publish.markdown import Section, bullets, fit
from bot.publish.report import mission_report
from bot.publish.story import Story
from sandbox.gate import for_workflow_log

SUMMARY_BYTES = 1 << 20
"""More than this a runner refuses, of one step."""

SUMMARY_CHARS = SUMMARY_BYTES // 4 * 9 // 10
"""Stays a tenth below that limit when every character takes four bytes."""

_TOKEN_BYTES = 16
_LEVELS = {"notice": "notice", "warning": "warning", "failure": "error"}


def step_summary(story: Story, notes: Sequence[str], *, limit: int = SUMMARY_CHARS) -> str:
    """The whole report, and above it what the reader of this run should know.

    Args:
        story: The mission as it is told.
        notes: What was not done and why; safe in Markdown already.
        limit: Characters.
    """
    heads = [Section(lead="## MetaAgent"), *([bullets("This run", notes)] if notes else [])]
    head = fit(heads, limit=limit // 4)
    return f"{head}\n\n{mission_report(story, limit=limit - len(head) - 3)}\n"


def short_summary(reason: str) -> str:
    """For a run that has nothing to tell but one sentence, which is safe in Markdown already."""
    return f"## MetaAgent\n\n{reason}\n"


def write_annotations(story: Story, out: TextIO, *, folder: str = "") -> None:
    """A note at every suspect line, likeliest first.

    Args:
        story: The mission.
        out: The step's log.
        folder: Where the project stands in the repository, `` or `sub/folder/`.
    """
    out.writelines(_annotation(note.with_(path=folder + note.path)) for note in annotations(story))


def write_notice(message: str, out: TextIO, *, level: str = "notice") -> None:
    """A note about the run as a whole: `notice`, `warning` or `error`."""
    out.write(f"::{level} title=MetaAgent::{_data(message)}\n")


def write_mask(value: str, out: TextIO) -> None:
    """Tell the runner to hide a value wherever it appears; each line of it, for logs are read line by line."""
    for line in value.splitlines():
        if line.strip():
            out.write(f"::add-mask::{_data(line)}\n")
    out.flush()


@contextmanager
def commands_stopped(out: TextIO, title: str) -> Iterator[None]:
    """While this lasts nothing that is written to the log is a command: nobody could know the word that ends it.

    Args:
        out: The step's log.
        title: Of the fold in which all this is shown.
    """
    word = secrets.token_hex(_TOKEN_BYTES)
    out.write(f"::group::{_data(title)}\n::stop-commands::{word}\n")
    out.flush()
    try:
        yield
    finally:
        # On a line of its own, whatever was written last.
        out.write(f"\n::{word}::\n::endgroup::\n")
        out.flush()


def harmless(text: str) -> str:
    """Gated text for the log: lines that are no commands, also where nobody stopped them."""
    return for_workflow_log(text)


def output_lines(values: Mapping[str, str]) -> str:
    """Outputs as the runner reads them from the file `GITHUB_OUTPUT`: no value can end itself or begin another."""
    lines = []
    for name, value in values.items():
        word = f"end-{secrets.token_hex(_TOKEN_BYTES)}"
        lines.append(f"{name}<<{word}\n{value}\n{word}\n")
    return "".join(lines)


def _annotation(note: CheckAnnotation) -> str:
    where = f"file={_property(note.path)},line={note.line},title={_property(note.title or 'MetaAgent')}"
    return f"::{_LEVELS[note.level]} {where}::{_data(note.message)}\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
