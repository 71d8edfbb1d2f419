"""Read `poetry install` and `poetry run`."""

from sandbox.recipe.declared import local_dependencies, project_in
from sandbox.recipe.files import beside, mapping, section
from sandbox.recipe.job import ToolReading
from sandbox.recipe.requirements import Local, Requirements, clean_lines
from sandbox.recipe.shell.walk import Call
from sandbox.recipe.tools.base import Options, ToolContext, read_options
from sandbox.recipe.tools.projects import project_folder, read_inner, whole_project

_VALUED = frozenset(
    {
        "--with",
        "--without",
        "--only",
        "--extras",
        "-E",
        "--group",
        "-G",
        "-C",
        "--directory",
        "-P",
        "--project",
    }
)


def read(call: Call, context: ToolContext) -> ToolReading | None:
    """Read one call of poetry."""
    start = 1
    while start < len(call.words) and call.words[start].startswith("-"):
        start += 2 if call.words[start] in _VALUED else 1
    asks = call.words[start] if start < len(call.words) else ""
    before = read_options(call.words[1:start], _VALUED)
    if asks in {"install", "sync"}:
        options = read_options(call.words[1:start] + call.words[start + 1 :], _VALUED)
        context.log.replaced(
            call.line(), "what the project declares is installed, at the versions of poetry.lock"
        )
        return ToolReading(wanted=_install(call, options, context))
    if asks == "run":
        folder = (
            project_folder(context, call.folder, before, "-C", "--directory")
            if before.given
            else call.folder
        )
        return read_inner(call.with_(folder=folder), start + 1, context)
    if asks == "poe":  # as a plugin
        return read_inner(call, start, context)
    if asks == "add":
        options = read_options(call.words[start + 1 :], _VALUED)
        lines = [word.replace("@latest", "").replace("@", "") for word in options.positional]
        return ToolReading(wanted=clean_lines(lines, call.line(), context.log, call.folder))
    if asks == "self":
        return ToolReading()
    if asks in {"check", "lock"}:
        context.log.dropped(call.line(), "the lock file is not checked")
        return ToolReading()
    if asks == "export":
        context.log.dropped(call.line(), "the lock file is read instead")
        return ToolReading()
    return (
        ToolReading()
        if asks
        in {"", "env", "config", "build", "publish", "show", "version", "cache", "shell", "about"}
        else None
    )


def _install(call: Call, options: Options, context: ToolContext) -> Requirements:
    folder = project_folder(context, call.folder, options, "-C", "--directory", "-P", "--project")
    poetry = section(context.files.toml(beside(folder, "pyproject.toml")), "tool", "poetry")
    project = project_in(context.files, folder)
    table = section(poetry, "group")
    usual = [name for name in table if mapping(table[name]).get("optional") is not True]
    usual += ["dev"] if "dev-dependencies" in poetry else []
    modern = list(
        section(context.files.toml(beside(folder, "pyproject.toml")), "dependency-groups")
    )
    optional = {name for name in table if mapping(table[name]).get("optional") is True}
    usual += [name for name in modern if name not in optional]
    only = options.split("--only")
    if only:
        groups = [name for name in only if name != "main"]
        alone = "main" not in only
        itself = not alone and not options.has("--no-root")
        wanted = whole_project(context, folder, groups, "poetry.lock", itself=itself, only=alone)
    else:
        without = set(options.split("--without")) | ({"dev"} if options.has("--no-dev") else set())
        groups = [name for name in (*usual, *options.split("--with")) if name not in without]
        groups += options.split("--extras", "-E")
        if options.has("--all-extras"):
            groups += [
                *section(poetry, "extras"),
                *section(
                    context.files.toml(beside(folder, "pyproject.toml")),
                    "project",
                    "optional-dependencies",
                ),
            ]
        if options.has("--all-groups"):
            groups += [*table, *modern]
        itself = (
            not options.has("--no-root")
            and not options.has("--only-root")
            and project.name is not None
        )
        itself = itself and poetry.get("package-mode") is not False
        wanted = whole_project(context, folder, groups, "poetry.lock", itself=itself)
        if options.has("--only-root"):
            return Requirements(local=(Local(folder=folder, alone=True),))
    beside_it = tuple(Local(folder=place) for place in local_dependencies(context.files, folder))
    return wanted.plus(Requirements(local=beside_it))
