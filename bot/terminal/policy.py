"""metaagent policy check: validate a repository's policy file, offline."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.errors import UsageError
from bot.policy.document import MAX_PYPROJECT_BYTES
from bot.policy.keys import PolicyProblem, Reading, read_keys
from bot.policy.policy_file import POLICY_PATHS, read_folder_keys


@dataclass(frozen=True)
class PolicyResult:
    """The problems of one policy file."""

    file: str
    problems: tuple[PolicyProblem, ...]

    @property
    def is_valid(self) -> bool:
        """Return True without an error; deprecated keys are none."""
        return not any(problem.is_error for problem in self.problems)

    @property
    def text(self) -> str:
        """Return a line for each problem, then the verdict."""
        lines = [
            f"{problem.origin}: {_level(problem)}: {problem.text}" for problem in self.problems
        ]
        errors = sum(problem.is_error for problem in self.problems)
        words = "the policy is valid" if self.is_valid else f"{errors} error{'s'[: errors - 1]}"
        return "\n".join([*lines, f"{self.file}: {words}"])

    @property
    def json_object(self) -> dict[str, Any]:
        """Return the same for programs."""
        problems = [
            {"line": problem.line, "level": _level(problem), "message": problem.text}
            for problem in self.problems
        ]
        return {"file": self.file, "valid": self.is_valid, "problems": problems}


def check_policy(file: str | None) -> PolicyResult:
    """Validate a policy file.

    Args:
        file: Its path; None takes the policy file of the current folder.

    Raises:
        UsageError: the file cannot be read, or has no policy.
    """
    name, reading = _read_here() if file is None else (file, _read(file))
    return PolicyResult(name, tuple(reading.problems))


def _read_here() -> tuple[str, Reading]:
    name, reading = read_folder_keys(Path())
    if not name:
        paths = ", ".join(POLICY_PATHS)
        raise UsageError("there is no policy file here", f"MetaAgent reads one of {paths}")
    return name, reading


def _read(file: str) -> Reading:
    try:
        with Path(file).open("rb") as opened:
            # One byte more, so that a larger file is noticed and refused.
            content = opened.read(MAX_PYPROJECT_BYTES + 1)
    except (OSError, ValueError) as error:
        raise UsageError(f"{file} cannot be read ({type(error).__name__})") from error
    reading = read_keys(content, file)
    if reading is None:
        raise UsageError(f"{file} has no [tool.metaagent]", "give the file that has the policy")
    return reading


def _level(problem: PolicyProblem) -> str:
    return "error" if problem.is_error else "warning"
