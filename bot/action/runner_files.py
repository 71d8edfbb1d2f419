"""Runner files of a finished step: summary, outputs and log lines."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TextIO

from bot.action.report import PATCH, REPORT
from bot.action.step_summary import (
    output_lines,
    short_summary,
    step_summary,
    write_annotations,
    write_notice,
)
from bot.domain.mission import Outcome
from bot.domain.model import total
from bot.domain.publication import Publication
from bot.publish.markdown import SafeWriter
from bot.publish.model_costs import usd_or_none
from bot.publish.story import Story

IGNORED = "IGNORED"
"""Output `outcome` of a step without work."""


@dataclass(frozen=True)
class Done:
    """Result of a step."""

    story: Story
    publication: Publication
    folder: str = ""
    """Project folder in the repository: empty, or `sub/folder/`."""
    notes: tuple[str, ...] = ()
    """Omitted work and its reasons, as trusted or sanitized lines."""
    warning: str = ""
    """Warning for the log."""

    def noting(self, *notes: str) -> "Done":
        """Return a copy with further notes."""
        return replace(self, notes=(*self.notes, *filter(None, notes)))

    @property
    def outcome(self) -> Outcome:
        """Return the published outcome."""
        return self.publication.outcome or self.story.outcome

    @cached_property
    def summary(self) -> str:
        """Return Markdown for the run's page."""
        notes = (self.story.pen.prose(note, cap=1_000) for note in self.notes)
        return step_summary(self.story, tuple(filter(None, (self._where(), *notes))))

    def _where(self) -> str:
        """Describe the place of the change; empty if it is only in the report."""
        publication = self.publication
        match publication.way:
            case "pull-request":
                url = publication.pull_request_url or f"#{publication.pull_request}"
                return f"Pull request: {url}"
            case "push":
                return f"Pushed to {self.story.pen.code(publication.branch or '')}."
            case "suggest":
                return "Suggested in the pull request: accept the suggestions to apply the change."
            case _:
                return ""


@dataclass(frozen=True)
class RunnerFiles:
    """Files and log that a runner reads.

    Attributes:
        summary: The file `GITHUB_STEP_SUMMARY`; None without a runner.
        output: The file `GITHUB_OUTPUT`.
        log: The step's log.
    """

    summary: Path | None
    output: Path | None
    log: TextIO

    @classmethod
    def of(cls, environment: Mapping[str, str], log: TextIO) -> "RunnerFiles":
        """Read the paths from the runner's environment."""
        paths = (environment.get(name) for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT"))
        summary, output = (Path(path) if path else None for path in paths)
        return cls(summary, output, log)

    def done(self, done: Done, report: Path) -> None:
        """Write the result of a mission.

        Args:
            done: The result, including what was written on GitHub.
            report: Folder with report and patch.
        """
        story, publication = done.story, done.publication
        confidence, cost = story.confidence.value, usd_or_none(total(story.context.calls))
        _append(self.summary, done.summary)
        values = {
            "outcome": done.outcome.value,
            "mission-id": publication.mission_id,
            "branch": publication.branch or "",
            "pr-number": str(publication.pull_request or ""),
            "confidence": "" if confidence is None else f"{confidence:.2f}",
            "report-path": str(report / REPORT),
            "patch-path": str(report / PATCH) if (report / PATCH).is_file() else "",
            "cost-usd": "" if cost is None else f"{cost:.4f}",
        }
        _append(self.output, output_lines(values))
        write_annotations(story, self.log, folder=done.folder)
        if done.warning:
            write_notice(done.warning, self.log, level="warning")
        reason = story.pen.line(story.reason, cap=1_000)
        write_notice(f"{done.outcome.value}: {reason}", self.log)

    def ignored(self, reason: str) -> None:
        """Write that there was no work, with the reason."""
        pen = SafeWriter()
        _append(self.summary, short_summary(f"Nothing to do: {pen.prose(reason)}."))
        _append(self.output, output_lines({"outcome": IGNORED}))
        write_notice(f"nothing to do: {pen.line(reason)}", self.log)

    def failed(self, message: str, pen: SafeWriter) -> None:
        """Write an error in the step's configuration or in MetaAgent."""
        _append(self.summary, short_summary(f"**ERROR**: {pen.prose(message)}"))
        _append(self.output, output_lines({"outcome": Outcome.ERROR.value}))
        write_notice(pen.line(message, cap=1_000), self.log, level="error")


def _append(path: Path | None, text: str) -> None:
    if path is not None:
        with path.open("a", encoding="utf-8") as file:
            file.write(text)
