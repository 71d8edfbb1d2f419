"""Read a script's installs and commands; each call goes to the reader of its tool."""

import re
import shlex
from collections.abc import Mapping
from dataclasses import replace
from posixpath import join, relpath

from sandbox.recipe.command import classify_command
from sandbox.recipe.editable import WORKDIR
from sandbox.recipe.files import CheckoutFiles
from sandbox.recipe.job import ToolCommand, ToolReading
from sandbox.recipe.programs import IMAGE_PROGRAMS
from sandbox.recipe.shell.budget import ScriptExhausted
from sandbox.recipe.shell.calls import FETCHING_DECISION, UNKNOWN_DECISION
from sandbox.recipe.shell.walk import UNKNOWN_VALUE, Call, Walked, walk_script
from sandbox.recipe.shell.words import ShellExpression
from sandbox.recipe.tools import (
    clone,
    go,
    hatch,
    just,
    make,
    nox,
    npm,
    pdm,
    pip,
    pipenv,
    poe,
    poetry,
    pre_commit,
    rust,
    tox,
    uv,
)
from sandbox.recipe.tools.base import (
    TOO_MANY,
    Reader,
    ToolContext,
    checked_command,
    plain_command,
    substitute,
)
from sandbox.recipe.tools.node_programs import start_by_npx
from sandbox.recipe.tools.projects import read_inner
from sandbox.recipe.tools.python import read_python
from sandbox.recipe.tools.wrappers import script_file, shell_script, unwrap
from sandbox.types import StepKind
from sandbox.types.launchers import NODE_MANAGERS, listing_command

_READERS: dict[str, Reader] = {
    "pip": pip.read,
    "pip3": pip.read,
    "uv": uv.read,
    "uvx": uv.read,
    "pipx": uv.read,
    "poetry": poetry.read,
    "pipenv": pipenv.read,
    "pdm": pdm.read,
    "rye": pdm.read,
    "tox": tox.read,
    "nox": nox.read,
    "hatch": hatch.read,
    "poe": poe.read,
    "poethepoet": poe.read,
    "make": make.read,
    "gmake": make.read,
    "just": just.read,
    "pre-commit": pre_commit.read,
    "prek": pre_commit.read,
    "python": read_python,
    **dict.fromkeys(npm.PROGRAMS, npm.read),
    **dict.fromkeys(go.PROGRAMS, go.read),
    **dict.fromkeys(rust.PROGRAMS, rust.read),
}
"""Program name to reader, explicitly."""
_ELSEWHERE = re.compile(
    r"(?<![\w./-])(?:curl|wget|docker|podman|ssh|gh"
    r"|git\s+(?:log|fetch|show|describe|tag|rev-list|merge-base))(?![\w-])"
)
"""Programs that need a network, containers or the history, which no sandbox has."""
_TOO_LONG = "it has, or expands to, more commands or text than are read here"
_NOT_FETCHED = "nothing is fetched or sent while a recipe runs"
_ENVIRONMENT = re.compile(r"(?:[^\s]*/)?\.?(?:v?env|virtualenv)[\w.-]*/bin/([\w.-]+)")
_ALL_ARGUMENTS = re.compile(r'"\$@"|\$@|"\$\{@\}"|\$\{@\}|\$\*')
_SYSTEM = frozenset(
    {
        "apt",
        "apt-get",
        "aptitude",
        "yum",
        "dnf",
        "apk",
        "brew",
        "choco",
        "snap",
        "add-apt-repository",
    }
)
_SETTINGS = frozenset(
    {"sysctl", "modprobe", "ip", "ifconfig", "iptables", "mount", "umount", "swapon", "swapoff"}
    | {"update-alternatives", "locale-gen", "useradd", "usermod", "groupadd", "dpkg"}
)
_NETWORK = frozenset(
    {"git", "curl", "wget", "gh", "ssh", "scp", "rsync", "aws", "gcloud", "az", "ssh-keyscan"}
)
_PUBLISHING = frozenset(
    {
        "codecov",
        "coveralls",
        "twine",
        "semantic-release",
        "codacy",
        "qlty",
        "deepsource",
        "cc-test-reporter",
    }
)
_COVERAGE = frozenset(
    {"coverage", "diff-cover", "diff-quality", "coverage-badge", "genbadge", "octocov"}
)
_CONTAINERS = frozenset(
    {
        "docker",
        "docker-compose",
        "podman",
        "kubectl",
        "helm",
        "kind",
        "minikube",
        "systemctl",
        "service",
    }
)
_SERVERS = NODE_MANAGERS | {"node", "npx", "bunx", "pnpx", "tsx", "ts-node"}
_CONDA = frozenset({"conda", "mamba", "micromamba", "pixi"})
_CONDA_USUAL = frozenset({"pip", "python", "setuptools", "wheel", "conda", "mamba"})
_OTHER_TOOLCHAINS = {
    **dict.fromkeys(("mvn", "gradle", "gradlew", "java", "javac", "sbt", "mvnw"), "Java"),
    **dict.fromkeys(("dotnet", "nuget"), ".NET"),
    **dict.fromkeys(("bundle", "rake", "gem", "ruby"), "Ruby"),
    **dict.fromkeys(("php", "composer"), "PHP"),
    **dict.fromkeys(("swift", "xcodebuild"), "Swift"),
    **dict.fromkeys(("mix", "elixir"), "Elixir"),
    **dict.fromkeys(("R", "Rscript"), "R"),
}
_HARMLESS = frozenset({"virtualenv", "tee", "env", "cat", "head", "tail", "grep", "find", "wc",
    "file", "stat", "du",
    "tree", "pyenv", "deactivate", "locale", "lscpu", "printenv", "hash", "xargs",
    "diff"})  # fmt: skip


def new_context(files: CheckoutFiles, python: str | None) -> ToolContext:
    """Create the context of one plan; all its readings share one budget."""
    return ToolContext(files=files, read_script=_read_text, python=python)


def read_script(
    context: ToolContext, text: str, folder: str, variables: Mapping[str, str]
) -> tuple[ToolReading, Walked]:
    """Read a step's script.

    Args:
        context: The files of the checkout.
        text: The script.
        folder: The folder in which it starts.
        variables: Its environment. Commands only carry what the script itself sets.

    Returns:
        The reading, and the script's calls.
    """
    try:
        walked = walk_script(text, context.files, folder, variables, spend=context.budget.spend)
    except ScriptExhausted:
        context.log.dropped(text, _TOO_LONG)
        return ToolReading(obstacles=(f"`{text[:100]}`: {_TOO_LONG}",)), Walked()
    read: list[tuple[Call, ToolReading]] = []
    reading = ToolReading()
    for call in walked.calls:
        if not context.budget.take():
            context.log.dropped(call.line(), TOO_MANY)
            reading = ToolReading(obstacles=(TOO_MANY,))
            break
        read.append((call, read_call(call, context)))
    # A check before `|| true` only counts if the script has no other one.
    judged = any(_checks_something(found) for call, found in read if not call.tolerated)
    for call, found in read:
        if call.tolerated and judged and _checks_something(found):
            context.log.dropped(call.line(), "it cannot fail the step")
            reading = reading.plus(found.with_(commands=()))
        else:
            reading = reading.plus(found)
    return reading, walked


def _checks_something(reading: ToolReading) -> bool:
    return any(
        classify_command(command.command) is not StepKind.OTHER for command in reading.commands
    )


def _read_text(
    context: ToolContext, text: str, folder: str, environment: Mapping[str, str]
) -> ToolReading:
    """Read a script of a tool's configuration; its environment applies to each of its commands.

    It sees the variables of the step, which the commands have anyway.
    """
    reading, _ = read_script(context, text, folder, {**context.variables, **environment})
    commands = tuple(
        command.with_(environment={**environment, **command.environment})
        if environment
        else command
        for command in reading.commands
    )
    return reading.with_(commands=commands)


def read_call(call: Call, context: ToolContext) -> ToolReading:
    """Read one call."""
    if call.decides:
        return _decision(call, context)
    if call.unknown:
        unknown = {name: ShellExpression(f"${{{name}}}") for name in call.unknown}
        context = replace(context, variables={**context.variables, **unknown})
    call = _in_our_environment(unwrap(call, context), context)
    if not call.words:
        return ToolReading()
    if call.background:
        context.log.dropped(call.line(), "it runs in the background")
        return ToolReading(obstacles=_server_obstacle(call))
    if (script := shell_script(call)) is not None:
        return context.script(script, call.folder, call.environment)
    if (file := script_file(call, context)) is not None:
        context.log.replaced(call.line(), f"the commands of {file[0]} are run")
        return context.script(_with_arguments(file[1], call), call.folder, call.environment)
    program = (
        "python" if re.fullmatch(r"python(?:3(?:\.\d{1,2})?)?|py", call.program) else call.program
    )
    program = "pip" if re.fullmatch(r"pip3?(?:\.\d{1,2})?", program) else program
    reader = _READERS.get(program)
    if reader is not None and (reading := reader(call, context)) is not None:
        return reading
    return _plain(call, context)


def _decision(call: Call, context: ToolContext) -> ToolReading:
    """Read a part of a script that fails by the shell's own logic: it runs as written."""
    text = call.text
    if _ELSEWHERE.search(text) or call.unknown:
        is_fetching = _ELSEWHERE.search(text) is not None
        context.log.dropped(text, FETCHING_DECISION if is_fetching else UNKNOWN_DECISION)
        return ToolReading()
    is_plain = listing_command(text) or not set(";&|\n") & set(text)
    line = text if is_plain else f"bash -e -c {shlex.quote(text)}"
    command = ToolCommand(command=line, working_directory=call.folder, environment=call.environment)
    return ToolReading(commands=(command,))


def _server_obstacle(call: Call) -> tuple[str, ...]:
    """Return the obstacle of a server that a job starts with Node.js, or in its folder."""
    if call.program not in _SERVERS and not call.words[0].startswith("./"):
        return ()
    return (f"`{call.line()[:100]} &` runs in the background, and nothing is started there",)


def _in_our_environment(call: Call, context: ToolContext) -> Call:
    """Convert `.venv/bin/flake8` to `flake8`: the environment is ours.

    Absolute paths become relative.
    """
    name = plain = call.words[0] if call.words else ""
    if name.startswith(f"{WORKDIR}/"):
        plain = f"./{relpath(name, join(WORKDIR, call.folder))}"
    elif (found := _ENVIRONMENT.fullmatch(name)) is not None and not context.files.is_file(
        name.removeprefix("./")
    ):
        plain = found[1]
    if plain == name:
        return call
    return call.with_(words=(plain, *call.words[1:]), shown=(shlex.quote(plain), *call.shown[1:]))


def _with_arguments(text: str, call: Call) -> str:
    """Substitute `"$@"` in a script's text."""
    start = 2 if call.words[0] in {"bash", "sh", "zsh", "dash"} else 1
    given = " ".join(call.shown[start:])
    return substitute(_ALL_ARGUMENTS, lambda _: given, text)


def _plain(call: Call, context: ToolContext) -> ToolReading:
    """Read a program without a configuration of its own."""
    program, line = call.program, call.line()
    if (reason := _exclusion_reason(call)) is not None:
        context.log.dropped(line, reason)
        return clone.read_clone(call, context.files)
    if program in _HARMLESS and call.whole:
        return ToolReading()
    if program in _CONTAINERS:
        context.log.dropped(line, "no containers or services are started")
        return ToolReading(obstacles=_container_obstacle(call))
    if program in _CONDA:
        return _conda(call, context)
    if (runtime := IMAGE_PROGRAMS.get(program)) is not None:
        context.log.dropped(line, runtime.runs)
        return checked_command(call, context).with_(obstacles=(runtime.obstacle(line),))
    if program in _OTHER_TOOLCHAINS:
        context.log.dropped(line, f"the sandbox has no {_OTHER_TOOLCHAINS[program]}")
        return plain_command(call).with_(
            obstacles=(
                (
                    f"`{program}` needs {_OTHER_TOOLCHAINS[program]}, which the toolchain image "
                    f"does "
                    f"not have"
                ),
            )
        )
    is_check = classify_command(line) is not StepKind.OTHER
    if call.uses_unknown and not is_check:
        context.log.dropped(call.text, UNKNOWN_VALUE)
        return ToolReading()
    # the output of a check is read here: `| tee log` and `> log` would only hide it
    found = checked_command(call, context) if is_check else plain_command(call)
    is_started = context.in_package and not is_check
    return start_by_npx(found, line if call.whole else call.text) if is_started else found


def _exclusion_reason(call: Call) -> str | None:
    """Return why a program is not run; None if it is."""
    program = call.program
    if program in _SYSTEM:
        return "system packages are not installed"
    if program in _SETTINGS:
        return "the system's settings are not changed"
    if program in _NETWORK and call.words[1:2] not in {
        ("diff",),
        ("status",),
        ("ls-files",),
        ("grep",),
    }:
        return _NOT_FETCHED
    if program in _PUBLISHING:
        return "nothing is published"
    if program in _COVERAGE:
        return "coverage is not checked"
    return None


def _container_obstacle(call: Call) -> tuple[str, ...]:
    asks = next((word for word in call.words[1:] if not word.startswith("-")), "")
    if call.program in {"systemctl", "service", "kubectl", "helm", "kind", "minikube"}:
        return (f"`{call.program}` starts a service, and none is started",)
    if asks in {"compose", "run", "build", "up", "exec", "start", "buildx", "stack"}:
        return (
            f"`{call.program} {asks}` needs a container daemon, and repository code never has one",
        )
    return ()


def _conda(call: Call, context: ToolContext) -> ToolReading:
    """Unwrap `conda run -n x tool`; anything that installs is missing."""
    if call.program == "pixi" and call.words[1:2] in {("run",), ("install",), ("r",), ("i",)}:
        context.log.dropped(call.line(), "only Python packages from an index are installed")
        return ToolReading(obstacles=(f"`pixi {call.words[1]}` needs an environment of pixi",))
    if call.words[1:2] == ("run",):
        index = 2
        while index < len(call.words) and call.words[index].startswith("-"):
            index += (
                2 if call.words[index] in {"-n", "-p", "--name", "--prefix", "--cwd", "-e"} else 1
            )
        return read_inner(call, index, context)
    asks = set(call.words[1:3])
    context.log.dropped(call.line(), "only Python packages from an index are installed")
    named = [
        word
        for word in call.words[2:]
        if re.match(r"[A-Za-z]", word) and word not in {"create", "update", "install"}
    ]
    plain = {re.split(r"[=<>!]", word, maxsplit=1)[0] for word in named}
    if asks & {"install", "create", "env", "update"} and not (plain and plain <= _CONDA_USUAL):
        return ToolReading(
            obstacles=(
                (
                    f"`{call.program}` packages ({' '.join(named)[:200]}) are not available from a "
                    f"Python package index"
                ),
            )
        )
    return ToolReading()
