"""Public interface of `actions/`: the failing job of a GitHub Actions workflow."""

from sandbox.recipe.actions.reading import find_job, is_runners_own, knows_job, list_jobs
from sandbox.recipe.job import Job, ListedJob, ResolvedStep

__all__ = [
    "Job",
    "ListedJob",
    "ResolvedStep",
    "find_job",
    "is_runners_own",
    "knows_job",
    "list_jobs",
]
