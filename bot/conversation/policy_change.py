"""A pull request changes the policy file: a check run shows each problem in its line."""

from bot.conversation.result import pen
from bot.domain.counted import counted
from bot.domain.github import POLICY_CHECK_NAME, CheckAnnotation, CheckUpdate
from bot.domain.request import RepositoryRef
from bot.policy.keys import PolicyProblem
from bot.policy.policy_file import read_proposed
from bot.policy.rules import LABEL_OFF, is_off_on_purpose
from bot.ports import Services
from bot.publish.markdown import SafeWriter, Section

MOST = 50
"""Maximum number of problems shown; GitHub's limit of annotations per request."""


async def check_policy_change(
    repository: RepositoryRef, number: int, head_sha: str, services: Services
) -> int | None:
    """Publish a check run about the policy files that a pull request changes.

    Args:
        repository: The repository of the pull request.
        number: Its number.
        head_sha: Its head commit.
        services: The services to use.

    Returns:
        The id of the check run; None if it changes none, or if MetaAgent is off there.

    Raises:
        GitHubError: GitHub refused, failed or could not be reached.
        StoreError: the registry could not be read.
    """
    switch = await services.registry.off(repository.id, number)
    if switch is not None and switch.off:
        return None
    proposed = await read_proposed(repository, number, head_sha, services.github)
    if not proposed or is_off_on_purpose(await services.read_policy(repository)):
        return None
    if LABEL_OFF in map(str.lower, await services.github.labels(repository, number)):
        return None
    problems = [problem for reading in proposed.values() for problem in reading.problems]
    update = _describe(list(proposed), problems, repository.default_branch, services)
    external_id = f"policy:{number}"
    return await services.github.publish_check(
        repository, head_sha, update.with_(external_id=external_id)
    )


async def list_proposed_problems(
    repository: RepositoryRef, number: int, head_sha: str, services: Services
) -> list[str] | None:
    """Return the problems of the policy files that a pull request changes, as Markdown.

    Args:
        repository: The repository of the pull request.
        number: Its number.
        head_sha: Its head commit.
        services: The services to use.

    Returns:
        None if it changes none.

    Raises:
        GitHubError: GitHub refused, failed or could not be reached.
    """
    proposed = await read_proposed(repository, number, head_sha, services.github)
    safe = pen(services)
    problems = [problem for reading in proposed.values() for problem in reading.problems]
    return [_line(problem, safe) for problem in problems[:MOST]] if proposed else None


def _describe(
    files: list[str], problems: list[PolicyProblem], branch: str, services: Services
) -> CheckUpdate:
    """Return the check run, without its external id."""
    safe = pen(services)
    errors = sum(problem.is_error for problem in problems)
    title = counted(errors, "error") if errors else "the policy is valid"
    applies = f"It applies once it is on the branch {safe.code(branch)}."
    if errors:
        applies += " An error never allows more than was intended."
    shown = problems[:MOST]
    rows = [f"- {_line(problem, safe)}" for problem in shown]
    if len(problems) > MOST:
        rows.append(f"- {len(problems) - MOST} more")
    names = ", ".join(safe.code(file) for file in files)
    section = Section(lead=f"{names}: {title}. {applies}", body="\n".join(rows))
    return CheckUpdate(
        status="completed",
        name=POLICY_CHECK_NAME,
        title=title,
        summary=section.render(),
        annotations=tuple(_annotation(problem, safe) for problem in shown),
    )


def _line(problem: PolicyProblem, safe: SafeWriter) -> str:
    return f"{safe.code(problem.origin)}: {safe.words(problem.text, cap=300)}"


def _annotation(problem: PolicyProblem, safe: SafeWriter) -> CheckAnnotation:
    return CheckAnnotation(
        path=problem.file,
        line=problem.line or 1,
        level="failure" if problem.is_error else "warning",
        message=safe.title(problem.text, cap=300),
    )
