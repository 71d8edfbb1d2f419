"""Resolve the local projects of a job: their dependencies, and those of the projects they need."""

from sandbox.recipe.declared import Project, local_dependencies, project_in
from sandbox.recipe.files import CheckoutFiles
from sandbox.recipe.requirements import Local, Requirements, distribution_name, normal_name

_MOST = 40


def with_local_projects(wanted: Requirements, files: CheckoutFiles) -> Requirements:
    """Add the dependencies of every local project, except the local projects themselves."""
    left, projects = list(wanted.local), dict[str, Project]()
    found = wanted.with_(local=())
    done: list[Local] = []
    while left and len(done) < _MOST:
        local = left.pop(0)
        if local in done:
            continue
        if not files.is_folder(local.folder):  # of a submodule, or of another repository
            found = found.plus(
                Requirements(missing=(f"the project {local.folder}: it is not in the checkout",))
            )
            continue
        done.append(local)
        if not files.is_project(local.folder):
            continue
        project = projects.setdefault(local.folder, project_in(files, local.folder))
        if local.alone:
            continue
        own = project.resolve_elsewhere(project.with_extras(local.extras))
        left += own.local
        left += [Local(folder=folder) for folder in local_dependencies(files, local.folder)]
        found = found.plus(own.with_(local=(), itself=False, extras=()))
    names = {normal_name(project.name) for project in projects.values() if project.name}
    return found.with_(
        lines=tuple(line for line in found.lines if distribution_name(line) not in names),
        constraints=tuple(
            line for line in found.constraints if distribution_name(line) not in names
        ),
        local=_merge_extras(done),
    )


def _merge_extras(projects: list[Local]) -> tuple[Local, ...]:
    """Return each folder once with all requested extras."""
    found: dict[str, Local] = {}
    for local in projects:
        before = found.get(local.folder, local)
        extras = tuple(dict.fromkeys((*before.extras, *local.extras)))
        found[local.folder] = Local(
            folder=local.folder, extras=extras, alone=before.alone and local.alone
        )
    return tuple(found.values())
