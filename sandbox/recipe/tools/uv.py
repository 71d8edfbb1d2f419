"""Read `uv sync`, `uv run`, `uv pip`, `uvx` and `pipx`."""

import re
from fnmatch import fnmatchcase

from sandbox.recipe.declared import project_in
from sandbox.recipe.files import section, words
from sandbox.recipe.job import ToolReading
from sandbox.recipe.python_versions import read_version
from sandbox.recipe.requirements import Requirements, clean_lines, normal_name
from sandbox.recipe.shell.walk import Call
from sandbox.recipe.tools import pip
from sandbox.recipe.tools.base import Options, ToolContext, read_options
from sandbox.recipe.tools.projects import project_folder, read_inner, selected_groups, whole_project

_VALUED = frozenset(
    {
        "--extra",
        "--group",
        "--no-group",
        "--only-group",
        "--no-extra",
        "--package",
        "--directory",
        "--project",
        "-p",
    }
    | {
        "--python",
        "--with",
        "-w",
        "--with-editable",
        "--with-requirements",
        "--env-file",
        "--index",
        "--index-url",
    }
    | {
        "--default-index",
        "--extra-index-url",
        "--find-links",
        "--resolution",
        "--prerelease",
        "--link-mode",
        "-n",
    }
    | {
        "--cache-dir",
        "--config-file",
        "--from",
        "--color",
        "--python-preference",
        "--refresh-package",
        "-c",
    }
    | {
        "--no-install-package",
        "--upgrade-package",
        "-P",
        "--script",
        "--constraints",
        "--spec",
        "--pip-args",
    }
)
_NOTHING = frozenset(
    {
        "venv",
        "python",
        "cache",
        "self",
        "version",
        "init",
        "lock",
        "tree",
        "export",
        "help",
        "--version",
    }
)


def read(call: Call, context: ToolContext) -> ToolReading | None:
    """Read one call of uv, uvx or pipx."""
    if call.program == "uvx":
        return _tool(call, 1, context)
    start = 1
    while (
        start < len(call.words)
        and call.words[start].startswith("-")
        and call.words[start] != "--version"
    ):
        start += 2 if call.words[start] in _VALUED else 1
    asks = call.words[start] if start < len(call.words) else "--version"
    if asks == "pip":
        return pip.read(call.from_(start), context)
    if asks == "sync":
        options = read_options(call.words[1:start] + call.words[start + 1 :], _VALUED)
        return ToolReading(
            wanted=_sync(call, options, context), python=_python(options.values("--python", "-p"))
        )
    if asks == "run" and call.program != "pipx":
        return _run(call, start, context)
    if asks == "tool":
        start += 1
        asks = call.words[start] if start < len(call.words) else ""
    if asks in {"run", "x"}:
        return _tool(call, start + 1, context)
    if asks in {"install", "add", "inject"}:
        options = read_options(call.words[start + 1 :], _VALUED)
        named = tuple(
            _to_requirement(word) for word in (*options.positional, *options.values("--with"))
        )
        return ToolReading(wanted=pip.read_install(call, named, context))
    if asks in _NOTHING or asks in {
        "build",
        "publish",
        "remove",
        "upgrade",
        "ensurepath",
        "update-shell",
        "list",
    }:
        return _read_version(call.words[start:])
    return None


def _read_version(words: tuple[str, ...]) -> ToolReading:
    """Read commands without installs, such as `uv venv -p 3.11`; only their version counts."""
    options = read_options(words, _VALUED)
    named = (
        options.positional[2:]
        if options.positional[:2] in {("python", "install"), ("python", "pin")}
        else ()
    )
    asked = options.values("--python", "-p") if words[:1] == ("venv",) else []
    return ToolReading(python=_python([*asked, *named]))


def _sync(
    call: Call, options: Options, context: ToolContext, *, quiet: bool = False
) -> Requirements:
    """Return what `uv sync` installs with these options."""
    folder = project_folder(context, call.folder, options, "--directory", "--project")
    # A member of the workspace is named by its project, not by its folder.
    if options.values("--package"):
        folder = _member(context, options.values("--package")[-1]) or folder
    project = project_in(context.files, folder)
    if not quiet:
        context.log.replaced(
            call.line(), "what the project declares is installed, at the versions of uv.lock"
        )
    missing = pip.unsupported_resolution(options)
    only = options.split("--only-group") + (["dev"] if options.has("--only-dev") else [])
    if only:
        return whole_project(context, folder, only, "uv.lock", only=True).plus(missing)
    # An exclusion wins over defaults and over requested groups, as in uv.
    without = {*options.split("--no-group"), *(["dev"] if options.has("--no-dev") else [])}
    defaults = () if options.has("--no-default-groups") else project.default_groups
    asked = selected_groups(options, project, extras=("--extra",), groups=("--group",))
    groups = [name for name in (*defaults, *asked) if name not in without]
    itself = not options.has("--no-install-project") and project.name is not None
    wanted = whole_project(context, folder, groups, "uv.lock", itself=itself).plus(missing)
    if options.has("--all-packages"):
        for member in _members(context):
            wanted = wanted.plus(whole_project(context, member, groups, "uv.lock"))
    return wanted


def _run(call: Call, start: int, context: ToolContext) -> ToolReading:
    """Read `uv run`: a sync, then the command."""
    module = next(
        (i for i, word in enumerate(call.words) if i > start and word in {"-m", "--module"}),
        len(call.words),
    )
    options = read_options(call.words[start + 1 : module], _VALUED, stop=True)
    first = module - len(options.rest)
    wanted = Requirements()
    if not options.has("--no-sync", "--no-project"):
        wanted = _sync(call, options, context, quiet=True)
    given = options.split("--with", "-w")
    wanted = wanted.plus(
        clean_lines(
            [name.replace("@", "==") for name in given], call.line(), context.log, call.folder
        )
    )
    for name in options.values("--with-requirements"):
        wanted = wanted.plus(pip.read_install(call, ("-r", name), context))
    for name in options.values("--with-editable"):
        wanted = wanted.plus(pip.read_install(call, ("-e", name), context))
    # No program came before `-m`, so it is uv's own option: Python runs the module.
    if first == module < len(call.words):
        reading = context.script(
            " ".join(("python", *call.shown[first:])), call.folder, call.environment
        )
    else:
        reading = read_inner(_in_directory(call, options, context), first, context)
    reason = "run in the existing environment"
    python = _python(options.values("--python", "-p"))
    return ToolReading(wanted=wanted, reason=reason, python=python).plus(reading)


def _python(asked: list[str]) -> str | None:
    """Return the requested Python version; of several, the last counts."""
    return next(
        (found for name in reversed(asked) if (found := read_version(name)) is not None), None
    )


def _to_requirement(word: str) -> str:
    """Convert `ruff@0.5` to a requirement."""
    return (
        re.sub(r"@latest$", "", word)
        if re.search(r"@latest$", word)
        else re.sub(r"^([\w.-]+)@(?=\d)", r"\1==", word)
    )


def _in_directory(call: Call, options: Options, context: ToolContext) -> Call:
    """Apply `--directory`, which also changes the command's folder."""
    if not options.values("--directory"):
        return call
    return call.with_(folder=project_folder(context, call.folder, options, "--directory"))


def _tool(call: Call, start: int, context: ToolContext) -> ToolReading:
    """Read `uvx ruff@0.5 check`: the tool is installed beside the project and run."""
    options = read_options(call.words[start:], _VALUED, stop=True)
    first = len(call.words) - len(options.rest)
    if first >= len(call.words):
        return ToolReading()
    name = call.words[first].partition("@")[0]
    pinned = [
        _to_requirement(line) for line in options.values("--from", "--spec") or [call.words[first]]
    ]
    wanted = pip.read_install(call, (*pinned, *options.split("--with")), context)
    # The program has the package's name, without version and extras.
    shown = (name.partition("==")[0].partition("[")[0], *call.shown[first + 1 :])
    # The tool's own command may be one that is read further, such as tox.
    reading = context.script(" ".join(shown), call.folder, call.environment)
    return ToolReading(wanted=wanted, reason="the tool is installed in the environment").plus(
        reading
    )


def _members(context: ToolContext) -> list[str]:
    """Return the folders of a workspace's projects."""
    workspace = section(context.files.toml("pyproject.toml"), "tool", "uv", "workspace")
    members, others = words(workspace.get("members"))[:50], words(workspace.get("exclude"))[:50]
    paths = sorted(name for name in context.files.contents if name.endswith("/pyproject.toml"))
    folders = [path.rpartition("/")[0] for path in paths]
    found = [
        folder
        for folder in folders
        if (not members or _is_matched(folder, members)) and not _is_matched(folder, others)
    ]
    named = (one for one in found if "project" in context.files.toml(f"{one}/pyproject.toml"))
    return list(named)[:40]


def _is_matched(folder: str, patterns: list[str]) -> bool:
    parts = folder.split("/")
    split = (pattern.removeprefix("./").rstrip("/")[:200].split("/") for pattern in patterns)
    return any(
        len(wanted) == len(parts) and all(map(fnmatchcase, parts, wanted)) for wanted in split
    )


def _member(context: ToolContext, name: str) -> str | None:
    return next(
        (
            f
            for f in _members(context)
            if normal_name(project_in(context.files, f).name or "") == normal_name(name)
        ),
        None,
    )
