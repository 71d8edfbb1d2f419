"""From a script to what it installs and runs: each call goes to the reader of its tool."""

import re
import shlex
from collections.abc import Mapping
from posixpath import join, relpath

from sandbox.recipe.command import kind_of
from sandbox.recipe.editable import WORKDIR
from sandbox.recipe.files import Files
from sandbox.recipe.job import ToolReading
from sandbox.recipe.shell.walk import Call, Walked, walk_script
from sandbox.recipe.tools import hatch, just, make, nox, npm, pdm, pip, pipenv, poetry, pre_commit, tox, uv
from sandbox.recipe.tools.base import Desk, Reader, checks, runs
from sandbox.recipe.tools.python import read_python
from sandbox.recipe.tools.wrappers import script_file, shell_script, unwrap
from sandbox.types import StepKind

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
    "make": make.read,
    "gmake": make.read,
    "just": just.read,
    "pre-commit": pre_commit.read,
    "prek": pre_commit.read,
    "python": read_python,
    **dict.fromkeys(npm.PROGRAMS, npm.read),
}
"""Explicit: the program's name, and who reads it."""
_ENVIRONMENT = re.compile(r"(?:[^\s]*/)?\.?(?:v?env|virtualenv)[\w.-]*/bin/([\w.-]+)")
_SYSTEM = frozenset({"apt", "apt-get", "aptitude", "yum", "dnf", "apk", "brew", "choco", "snap", "add-apt-repository"})
_NETWORK = frozenset({"git", "curl", "wget", "gh", "ssh", "scp", "rsync", "aws", "gcloud", "az", "ssh-keyscan"})
_PUBLISHING = frozenset(
    {"codecov", "coveralls", "twine", "semantic-release", "codacy", "qlty", "deepsource", "cc-test-reporter"}
)
_COVERAGE = frozenset({"coverage", "diff-cover", "diff-quality", "coverage-badge", "genbadge", "octocov"})
_CONTAINERS = frozenset(
    {"docker", "docker-compose", "podman", "kubectl", "helm", "kind", "minikube", "systemctl", "service"}
)
_CONDA = frozenset({"conda", "mamba", "micromamba", "pixi"})
_CONDA_USUAL = frozenset({"pip", "python", "setuptools", "wheel", "conda", "mamba"})
_OTHER_TOOLCHAINS = {
    **dict.fromkeys(("cargo", "rustc", "rustup", "cross"), "Rust"),
    **dict.fromkeys(("go", "golangci-lint"), "Go"),
    **dict.fromkeys(("mvn", "gradle", "gradlew", "java", "javac", "sbt", "mvnw"), "Java"),
    **dict.fromkeys(("dotnet", "nuget"), ".NET"),
    **dict.fromkeys(("bundle", "rake", "gem", "ruby"), "Ruby"),
    **dict.fromkeys(("php", "composer"), "PHP"),
    **dict.fromkeys(("swift", "xcodebuild"), "Swift"),
    **dict.fromkeys(("mix", "elixir"), "Elixir"),
    **dict.fromkeys(("R", "Rscript"), "R"),
}
_HARMLESS = frozenset({"virtualenv", "tee", "env", "cat", "head", "tail", "grep", "find", "wc", "file", "stat", "du",
    "tree", "pyenv", "deactivate", "locale", "lscpu", "printenv", "hash", "xargs", "diff"})  # fmt: skip


def new_desk(files: Files, python: str | None) -> Desk:
    """A desk for one plan: all its readings share one budget."""
    return Desk(files=files, read_script=_read_text, python=python)


def read_script(desk: Desk, text: str, folder: str, variables: Mapping[str, str]) -> tuple[ToolReading, Walked]:
    """What a step's script asks for.

    Args:
        desk: The files of the checkout.
        text: The script.
        folder: Where it starts.
        variables: The environment it sees; commands carry only what the script itself sets.

    Returns:
        The reading, and how the script was walked.
    """
    walked = walk_script(text, desk.files, folder, variables)
    read: list[tuple[Call, ToolReading]] = []
    for call in walked.calls:
        if not desk.budget.take():
            desk.log.dropped(call.line(), "there is more to read than anybody writes")
            break
        read.append((call, read_call(call, desk)))
    judged = any(_checks_something(found) for call, found in read if not call.tolerated)
    reading = ToolReading()
    for call, found in read:
        if call.tolerated and judged and _checks_something(found):
            desk.log.dropped(call.line(), "it cannot fail the step")
            reading = reading.plus(found.with_(commands=()))
        else:
            reading = reading.plus(found)
    return reading, walked


def _checks_something(reading: ToolReading) -> bool:
    return any(kind_of(command.command) is not StepKind.OTHER for command in reading.commands)


def _read_text(desk: Desk, text: str, folder: str, environment: Mapping[str, str]) -> ToolReading:
    """A script in a tool's configuration; its environment goes with each of its commands."""
    reading, _ = read_script(desk, text, folder, environment)
    commands = tuple(
        command.with_(environment={**environment, **command.environment}) if environment else command
        for command in reading.commands
    )
    return reading.with_(commands=commands)


def read_call(call: Call, desk: Desk) -> ToolReading:
    """What one call asks for."""
    call = _in_our_environment(unwrap(call, desk), desk)
    if not call.words:
        return ToolReading()
    if call.background:
        desk.log.dropped(call.line(), "it runs in the background")
        return ToolReading()
    if (script := shell_script(call)) is not None:
        return desk.script(script, call.folder, call.environment)
    if (file := script_file(call, desk)) is not None:
        desk.log.replaced(call.line(), f"the commands of {file[0]} are run")
        return desk.script(_with_arguments(file[1], call), call.folder, call.environment)
    program = "python" if re.fullmatch(r"python(?:3(?:\.\d{1,2})?)?|py", call.program) else call.program
    program = "pip" if re.fullmatch(r"pip3?(?:\.\d{1,2})?", program) else program
    reader = _READERS.get(program)
    if reader is not None and (reading := reader(call, desk)) is not None:
        return reading
    return _plain(call, desk)


def _in_our_environment(call: Call, desk: Desk) -> Call:
    """`.venv/bin/flake8` is `flake8`: the environment that a step makes is ours; the checkout may be named in full."""
    name = plain = call.words[0] if call.words else ""
    if name.startswith(f"{WORKDIR}/"):
        plain = f"./{relpath(name, join(WORKDIR, call.folder))}"
    elif (found := _ENVIRONMENT.fullmatch(name)) is not None and not desk.files.is_file(name.removeprefix("./")):
        plain = found[1]
    if plain == name:
        return call
    return call.with_(words=(plain, *call.words[1:]), shown=(shlex.quote(plain), *call.shown[1:]))


def _with_arguments(text: str, call: Call) -> str:
    """A script's text, with `"$@"` filled in."""
    start = 2 if call.words[0] in {"bash", "sh", "zsh", "dash"} else 1
    given = " ".join(call.shown[start:])
    return re.sub(r'"\$@"|\$@|"\$\{@\}"|\$\{@\}|\$\*', lambda _: given, text)


def _plain(call: Call, desk: Desk) -> ToolReading:
    """A program that no configuration stands behind."""
    program, line = call.program, call.line()
    if (reason := _why_left_out(call)) is not None:
        desk.log.dropped(line, reason)
        return ToolReading()
    if program in _HARMLESS and call.whole:
        return ToolReading()
    if program in _CONTAINERS:
        desk.log.dropped(line, "no containers or services are started")
        return ToolReading(obstacles=_container_obstacle(call))
    if program in _CONDA:
        return _conda(call, desk)
    if program in _OTHER_TOOLCHAINS:
        desk.log.dropped(line, f"the sandbox has no {_OTHER_TOOLCHAINS[program]}")
        return runs(call).with_(
            obstacles=(f"`{program}` needs {_OTHER_TOOLCHAINS[program]}, which the toolchain image does not have",)
        )
    if kind_of(line) is not StepKind.OTHER:
        # what a check prints is read here: `| tee log` and `> log` only hide it
        return checks(call, desk)
    return runs(call)


def _why_left_out(call: Call) -> str | None:
    """Why a program is not run at all; None when it is."""
    program = call.program
    if program in _SYSTEM:
        return "system packages are not installed: the toolchain image has its own"
    if program in _NETWORK and call.words[1:2] not in {("diff",), ("status",), ("ls-files",), ("grep",)}:
        return "nothing is fetched or sent while a recipe runs"
    if program in _PUBLISHING:
        return "nothing is published"
    if program in _COVERAGE:
        return "coverage is not judged"
    return None


def _container_obstacle(call: Call) -> tuple[str, ...]:
    asks = next((word for word in call.words[1:] if not word.startswith("-")), "")
    if call.program in {"systemctl", "service", "kubectl", "helm", "kind", "minikube"}:
        return (f"`{call.program}` starts a service, and none is started",)
    if asks in {"compose", "run", "build", "up", "exec", "start", "buildx", "stack"}:
        return (f"`{call.program} {asks}` needs a container daemon, and repository code never has one",)
    return ()


def _conda(call: Call, desk: Desk) -> ToolReading:
    """`conda run -n x tool` is the tool; anything that installs is missing."""
    if call.words[1:2] == ("run",):
        index = 2
        while index < len(call.words) and call.words[index].startswith("-"):
            index += 2 if call.words[index] in {"-n", "-p", "--name", "--prefix", "--cwd", "-e"} else 1
        return read_call(call.from_(index), desk) if index < len(call.words) else ToolReading()
    asks = set(call.words[1:3])
    desk.log.dropped(call.line(), "only Python packages from an index are installed")
    named = [
        word for word in call.words[2:] if re.match(r"[A-Za-z]", word) and word not in {"create", "update", "install"}
    ]
    plain = {re.split(r"[=<>!]", word, maxsplit=1)[0] for word in named}
    if asks & {"install", "create", "env", "update"} and not (plain and plain <= _CONDA_USUAL):
        return ToolReading(
            obstacles=(
                f"`{call.program}` packages ({' '.join(named)[:200]}): only an index of Python packages is asked",
            )
        )
    return ToolReading()
