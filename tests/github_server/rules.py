"""What a branch demands: GitHub's rulesets, listed and enforced for everything but what a test does by hand."""

from tests.github_server.entities import Json, Repository
from tests.github_server.errors import ApiError
from tests.github_server.gitstore import ZERO

REASONS = {
    "creation": "Cannot create ref due to creations being restricted.",
    "deletion": "Cannot delete this branch",
    "non_fast_forward": "Cannot force-push to this branch",
    "pull_request": "Changes must be made through a pull request.",
    "required_signatures": "Commits must have verified signatures.",
    "update": "Cannot update this protected ref.",
}
REVIEWS = {
    "dismiss_stale_reviews_on_push": False,
    "require_code_owner_review": False,
    "require_last_push_approval": False,
    "required_approving_review_count": 1,
    "required_review_thread_resolution": False,
}


def rules_json(repo: Repository, branch: str) -> list[Json]:
    """The rules of a branch."""
    origin = {
        "ruleset_source_type": "Repository",
        "ruleset_source": repo.full_name,
        "ruleset_id": 42,
    }
    found: list[Json] = []
    for kind in repo.rules.get(branch, ()):
        rule: Json = {"type": kind, **origin}
        if kind == "pull_request":
            rule["parameters"] = dict(REVIEWS)
        found.append(rule)
    return found


def broken_rule(repo: Repository, name: str, old: str, new: str) -> str | None:
    """Which rule a move of a ref breaks."""
    held = (
        repo.rules.get(name.removeprefix("refs/heads/"), ())
        if name.startswith("refs/heads/")
        else ()
    )
    for kind in held:
        if _breaks(repo, kind, old, new):
            return kind
    return None


def _breaks(repo: Repository, kind: str, old: str, new: str) -> bool:
    """Whether a move breaks one rule."""
    if kind == "creation":
        return old == ZERO
    if kind == "deletion":
        return new == ZERO
    if ZERO in {old, new}:
        return False
    if kind == "non_fast_forward":
        return not repo.store.is_ancestor(old, new)
    if kind == "required_signatures":
        return any(sha not in repo.store.signed for sha in repo.store.history(f"{old}..{new}"))
    return kind in {"update", "pull_request"}


def violation(kind: str) -> str:
    """What GitHub says of a broken rule."""
    return f"Repository rule violations found\n\n{REASONS[kind]}\n\n"


def guard_rules(repo: Repository, name: str, old: str, new: str, *, status: int = 422) -> None:
    """Refuse a move of a ref that breaks a rule."""
    kind = broken_rule(repo, name, old, new)
    if kind is not None:
        raise ApiError(status, violation(kind))
