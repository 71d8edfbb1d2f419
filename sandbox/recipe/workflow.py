"""The failing job of a GitHub Actions workflow, read from its YAML as data: the door to `actions/`."""

from sandbox.recipe.actions.reading import find_job, is_runners_own, knows_job, list_jobs
from sandbox.recipe.job import Job, JobStep, ListedJob

__all__ = ["Job", "JobStep", "ListedJob", "find_job", "is_runners_own", "knows_job", "list_jobs"]
