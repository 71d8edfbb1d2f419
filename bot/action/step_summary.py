"""Step summary, annotations and outputs of a workflow step; untrusted text is never a command."""

import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TextIO

from bot.domain.github import CheckAnnotation
from bot.publish.check_run import annotations
from bot.publish.evidence_sections import evidence_json
from bot.publish.markdown import Section, bullets, fit
from bot.publish.report import REPORT_BYTES, mission_report
from bot.publish.story import Story
from sandbox.gate import for_workflow_log

SUMMARY_BYTES = 1 << 20
"""GitHub's size limit for a step summary, in bytes."""

SUMMARY_CHARS = SUMMARY_BYTES // 4 * 9 // 10
"""Limit in characters: 10 % below GitHub's limit if every character takes four bytes."""

# 128 random bits, which no output can guess.
_TOKEN_BYTES = 16
_LEVELS = {"notice": "notice", "warning": "warning", "failure": "error"}


def step_summary(story: Story, notes: Sequence[str], *, limit: int = SUMMARY_CHARS) -> str:
    """Return notes on this run, the report and the evidence, of which no bundle is kept.

    Args:
        story: The mission as published.
        notes: Omitted work and its reasons, as safe Markdown.
        limit: Maximum number of bytes.
    """
    heads = [Section(lead="## MetaAgent"), *([bullets("This run", notes)] if notes else [])]
    head = fit(heads, limit=limit // 4)
    # Five line breaks between and after the three parts.
    left = limit - len(head.encode()) - 5
    report = mission_report(story, limit=min(left, REPORT_BYTES))
    evidence = fit([evidence_json(story)], limit=left - len(report.encode()))
    return "\n\n".join(part for part in (head, report, evidence) if part) + "\n"


def short_summary(reason: str) -> str:
    """Return a summary of one sentence, which must be safe Markdown."""
    return f"## MetaAgent\n\n{reason}\n"


def write_annotations(story: Story, out: TextIO, *, folder: str = "") -> None:
    """Write an annotation for each suspect line, most suspicious first.

    Args:
        story: The mission.
        out: The step's log.
        folder: Project folder in the repository: empty, or `sub/folder/`.
    """
    out.writelines(_annotation(note.with_(path=folder + note.path)) for note in annotations(story))


def write_notice(message: str, out: TextIO, *, level: str = "notice") -> None:
    """Write a message about the run: `notice`, `warning` or `error`."""
    out.write(f"::{level} title=MetaAgent::{_data(message)}\n")


def write_mask(value: str, out: TextIO) -> None:
    """Tell the runner to mask a value.

    Each line is masked separately, because logs are processed line by line.
    """
    for line in value.splitlines():
        if line.strip():
            out.write(f"::add-mask::{_data(line)}\n")
    out.flush()


@contextmanager
def commands_stopped(out: TextIO, title: str) -> Iterator[None]:
    """Disable workflow commands in the log within the block.

    A random token ends the block, so that untrusted output cannot.

    Args:
        out: The step's log.
        title: Title of the log group.
    """
    word = secrets.token_hex(_TOKEN_BYTES)
    out.write(f"::group::{_data(title)}\n::stop-commands::{word}\n")
    out.flush()
    try:
        yield
    finally:
        # Start on a new line, whatever was written last.
        out.write(f"\n::{word}::\n::endgroup::\n")
        out.flush()


def harmless(text: str) -> str:
    """Return sanitized lines that are never workflow commands, even outside `commands_stopped`."""
    return for_workflow_log(text)


def output_lines(values: Mapping[str, str]) -> str:
    """Format values for the file `GITHUB_OUTPUT`; random delimiters prevent injection."""
    lines = []
    for name, value in values.items():
        word = f"end-{secrets.token_hex(_TOKEN_BYTES)}"
        lines.append(f"{name}<<{word}\n{value}\n{word}\n")
    return "".join(lines)


def _annotation(note: CheckAnnotation) -> str:
    where = (
        f"file={_property(note.path)},line={note.line},title={_property(note.title or 'MetaAgent')}"
    )
    return f"::{_LEVELS[note.level]} {where}::{_data(note.message)}\n"


def _data(text: str) -> str:
    # As `escapeData` of GitHub's actions/toolkit; `%` first, because the escapes contain it.
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    # As `escapeProperty` there: `:` and `,` end a property.
    return _data(text).replace(":", "%3A").replace(",", "%2C")
