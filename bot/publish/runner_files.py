"""What a runner reads when a step has ended: its summary, its outputs, and lines in its log."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TextIO

from bot.domain.mission import Outcome
from bot.domain.model import total
from bot.domain.publication import Publication
from bot.publish.action_report import PATCH, REPORT
from bot.publish.markdown import Pen
from bot.publish.step_summary import (
    output_lines,
    short_summary,
    step_summary,
    write_annotations,
    write_notice,
)
from bot.publish.story import Story
from bot.publish.who_spoke import known_usd

IGNORED = "IGNORED"
"""The output `outcome` of a step that had nothing to do."""


@dataclass(frozen=True)
class Done:
    """How a step ended."""

    story: Story
    publication: Publication
    folder: str = ""
    """Where the project stands in the repository: empty, or `sub/folder/`."""
    notes: tuple[str, ...] = ()
    """What was not done and why: our own words, or gated lines."""
    warning: str = ""
    """What the reader of the log must see."""

    def noting(self, *notes: str) -> "Done":
        """The same, with more to say."""
        return replace(self, notes=(*self.notes, *filter(None, notes)))

    @property
    def outcome(self) -> Outcome:
        """As it was told."""
        return self.publication.outcome or self.story.outcome

    @cached_property
    def summary(self) -> str:
        """Markdown for the run's page."""
        notes = (self.story.pen.prose(note, cap=1_000) for note in self.notes)
        return step_summary(self.story, tuple(filter(None, (self._where(), *notes))))

    def _where(self) -> str:
        """Where the change is now; empty when it is only here."""
        publication = self.publication
        match publication.way:
            case "pull-request":
                return f"Pull request: {publication.pull_request_url or f'#{publication.pull_request}'}"
            case "push":
                return f"Pushed to {self.story.pen.code(publication.branch or '')}."
            case "suggest":
                return "Suggested in the pull request: accept the suggestions, and the change is made."
            case _:
                return ""


@dataclass(frozen=True)
class RunnerFiles:
    """Where a runner wants to be told.

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
        """As the runner names them."""
        paths = (environment.get(name) for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT"))
        summary, output = (Path(path) if path else None for path in paths)
        return cls(summary, output, log)

    def done(self, done: Done, report: Path) -> None:
        """Tell how a mission ended.

        Args:
            done: The mission, and what was written on GitHub.
            report: The folder with report and patch.
        """
        story, publication = done.story, done.publication
        confidence, cost = story.confidence.value, known_usd(total(story.context.calls))
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
        """Tell that there was nothing to do."""
        pen = Pen()
        _append(self.summary, short_summary(f"Nothing to do: {pen.prose(reason)}."))
        _append(self.output, output_lines({"outcome": IGNORED}))
        write_notice(f"nothing to do: {pen.line(reason)}", self.log)

    def failed(self, message: str, pen: Pen) -> None:
        """Tell what is wrong with how the step is used, or with us."""
        _append(self.summary, short_summary(f"**ERROR**: {pen.prose(message)}"))
        _append(self.output, output_lines({"outcome": Outcome.ERROR.value}))
        write_notice(pen.line(message, cap=1_000), self.log, level="error")


def _append(path: Path | None, text: str) -> None:
    if path is not None:
        with path.open("a", encoding="utf-8") as file:
            file.write(text)
