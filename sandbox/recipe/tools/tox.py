"""Read `tox -e py311`: the requested environments with their installs and commands."""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice, product

from sandbox.recipe.command import split_command
from sandbox.recipe.files import inside
from sandbox.recipe.job import ToolReading
from sandbox.recipe.requirements import Local, Requirements, clean_lines, read_constraint_file
from sandbox.recipe.shell.walk import Call
from sandbox.recipe.tools import pip
from sandbox.recipe.tools.base import Options, ToolContext, read_options
from sandbox.recipe.tools.projects import whole_project
from sandbox.recipe.tools.tox_config import ToxConfig, read_tox
from sandbox.recipe.tools.tox_names import expand_names, parse_python, split_factors

_VALUED = frozenset(
    {
        "-e",
        "-c",
        "--conf",
        "--workdir",
        "--work-dir",
        "-p",
        "--parallel",
        "-f",
        "-m",
        "-x",
        "--override",
        "-o",
    }
    | {
        "--result-json",
        "--installpkg",
        "--skip-env",
        "--default-runner",
        "--root",
        "--hashseed",
        "--develop-python",
    }
    | {
        "--discover",
        "--color",
        "--colored",
        "--parallel-no-spinner-x",
        "-s",
        "--force-dep",
        "--runner",
    }
)
_RUNS = frozenset({"run", "r", "run-parallel", "p", "legacy", "le", "devenv", "d", "exec", "e"})
_LISTS = frozenset(
    {"list", "l", "config", "c", "quickstart", "q", "depends", "de", "schema", "man"}
)
_MOST_ENVS = 40
_MOST_LABELS = 20
_MOST_CHOICES = 200


def read(call: Call, context: ToolContext) -> ToolReading | None:
    """Read one call of tox."""
    words = call.words[1:]
    asked = words[:1]
    if words[:1] and words[0] in _RUNS | _LISTS:
        if words[0] in _LISTS:
            return ToolReading()
        words = words[1:]
    options = read_options(words, _VALUED)
    if options.has(
        "--version", "--help", "-l", "--listenvs", "-a", "--showconfig", "--notest", "-n"
    ):
        return ToolReading()
    config = _config(call, options, context)
    if config is None:
        context.log.dropped(call.line(), "tox has no configuration in the checkout")
        return None
    envs = _choose_environments(call, options, config, context)
    if not envs:
        context.log.dropped(call.line(), f"{config.path} has no environment that fits")
        return None
    context.log.replaced(
        call.line(), f"the commands of {', '.join(envs)} in {config.path} are run without tox"
    )
    if len(envs) > _MOST_ENVS:
        line = call.line()[:100]
        return ToolReading(obstacles=(f"`{line}` runs more than {_MOST_ENVS} environments",))
    reading = ToolReading()
    for env in envs:
        one = _Environment(env, config, context, options.rest or options.positional)
        if asked in (("exec",), ("e",)):
            reading = reading.plus(one.execute(call))
        else:
            reading = reading.plus(one.read(call.environment))
    if not context.budget.spend(0):
        reason = "its values refer to each other too often"
        context.log.dropped(config.path, reason)
        return reading.with_(obstacles=(*reading.obstacles, f"{config.path}: {reason}"))
    return reading


def _config(call: Call, options: Options, context: ToolContext) -> ToxConfig | None:
    named = next(iter(options.values("-c", "--conf", "--root")), None)
    if named is None:
        return read_tox(context.files, call.folder, context.budget) or (
            read_tox(context.files, ".", context.budget) if call.folder != "." else None
        )
    path = inside(call.folder, named)
    if path is None:
        return None
    if path.endswith((".ini", ".cfg", ".toml")):
        folder, _, name = path.rpartition("/")
        return read_tox(context.files, folder or ".", context.budget, name)
    return read_tox(context.files, path, context.budget)


def _choose_environments(
    call: Call, options: Options, config: ToxConfig, context: ToolContext
) -> list[str]:
    """Return the environments to run."""
    variables = {**context.variables, **call.environment}
    asked = (
        ",".join(options.values("-e"))
        or variables.get("TOXENV", "")
        or variables.get("TOX_ENV", "")
    )
    named = expand_names(_substitute_python(asked, context))
    # `ALL` stands for the whole list, which the code below reads.
    if named and named != ["ALL"]:
        return named
    listed = config.env_list
    if labels := options.split("-m"):
        return [env for label in labels[:_MOST_LABELS] for env in _label(label, config)] or listed[
            :1
        ]
    if factors := options.values("-f"):
        wanted = [set(re.split(r"[-, ]", _substitute_python(value, context))) for value in factors]
        return [env for env in listed if any(w <= split_factors(env) for w in wanted)]
    # Plugins choose by the job's Python, so this comes before our own choice.
    mapped = _choose_for_github(config, listed, context, variables)
    if mapped is not None:
        return mapped
    # Only CPython is in the sandbox.
    listed = [env for env in listed if not env.startswith(("pypy", "jython"))] or listed
    here = [env for env in listed if _environment_python(env, config) in {None, context.python}]
    if context.python is None:  # without a Python in the job, one test environment is enough
        here = [
            env
            for env in listed
            if _environment_python(env, config) in {None, _first_python(listed)}
        ]
    if not here and listed:
        context.log.replaced(
            "tox", f"no environment is for Python {context.python}: {listed[0]} is used"
        )
        return listed[:1]
    # environments that publish or document seldom fail, and most lists start with tests
    return here or ["py"]


def _substitute_python(text: str, context: ToolContext) -> str:
    """Replace variables that only a shell knows by the job's Python, the usual value."""
    factor = f"py{context.python.replace('.', '')}" if context.python is not None else "py"
    return re.sub(r"\$\{?\w+\}?", factor, text)


def _environment_python(env: str, config: ToxConfig) -> str | None:
    """Return the Python of an environment: from its name, else from its settings."""
    given = config.text(env, "base_python").split(",")[0].strip()
    return parse_python(env) or (parse_python(given) if given else None)


def _first_python(listed: list[str]) -> str | None:
    return next((python for env in listed if (python := parse_python(env)) is not None), None)


def _label(label: str, config: ToxConfig) -> list[str]:
    lines = config.sections.get("tox", {}).get("labels", "").split("\n")
    found = [
        names
        for line in lines
        for key, equals, names in [line.partition("=")]
        if equals and key.strip() == label
    ]
    own = [env for env in config.env_list if label in expand_names(config.text(env, "labels"))]
    return [env for names in found for env in expand_names(names)] or own


def _choose_for_github(
    config: ToxConfig, listed: list[str], context: ToolContext, variables: Mapping[str, str]
) -> list[str] | None:
    """Return the choice of tox-gh-actions or tox-gh for the job's Python; None without either."""
    python = variables.get("TOX_GH_MAJOR_MINOR") or context.python
    if python is None:
        return None
    named = _mapped_names(config, "gh-actions", "python", python)
    if named is not None:
        groups = [named, *_environment_factors(config, variables)]
        combined = islice(product(*groups), _MOST_CHOICES)
        wanted = [{factor for name in names for factor in name.split("-")} for names in combined]
        return [env for env in listed if any(w <= split_factors(env) for w in wanted)] or named
    return _mapped_names(config, "gh", "python", python)


def _environment_factors(config: ToxConfig, variables: Mapping[str, str]) -> list[list[str]]:
    """Return the factors that tox-gh-actions adds by the values of variables."""
    options = list(config.sections.get("gh-actions:env", {}).items())[:_MOST_LABELS]
    known = {name.lower(): value for name, value in variables.items()}
    found = (
        _mapped_names(config, "gh-actions:env", name, known[name.lower()])
        for name, _ in options
        if name.lower() in known
    )
    return [names for names in found if names]


def _mapped_names(config: ToxConfig, part: str, option: str, value: str) -> list[str] | None:
    """Return the names in a table such as `3.11: py311, lint`; None without the value."""
    for line in config.sections.get(part, {}).get(option, "").split("\n"):
        found = re.fullmatch(r"(?:pypy-?)?([^\s:=]+)\s*[:=]\s*(\S.*)", line.strip())
        # A development version of a Python counts as that Python.
        if found is not None and value in {found[1], found[1].removesuffix("-dev")}:
            return expand_names(found[2])
    return None


@dataclass(frozen=True)
class _Environment:
    """One environment of tox."""

    env: str
    config: ToxConfig
    context: ToolContext
    posargs: tuple[str, ...]

    def read(self, environment: Mapping[str, str]) -> ToolReading:
        """Return its installs and commands."""
        variables, reading = self._prepare(environment)
        for key in ("commands_pre", "commands"):
            for line in self._lines(key, variables):
                if (command := self._command(line)) is not None:
                    reading = reading.plus(self.context.script(command, self._folder(), variables))
        return reading

    def execute(self, call: Call) -> ToolReading:
        """Return its installs and the command of `tox exec -e ENV -- COMMAND`."""
        variables, reading = self._prepare(call.environment)
        command = shlex.join(self.posargs)
        return reading.plus(self.context.script(command, call.folder, variables))

    def _prepare(self, environment: Mapping[str, str]) -> tuple[dict[str, str], ToolReading]:
        """Return its variables and its installs."""
        variables = {**environment, **self._variables({**self.context.variables, **environment})}
        wanted, names = self._requirements(variables), self._lines("docker", variables)
        # Containers that the plugin tox-docker starts.
        missing = tuple(f"needs the service {name[:100]}, no service is started" for name in names)
        return variables, ToolReading(wanted=wanted, python=self._python(), obstacles=missing)

    def _lines(self, key: str, environment: Mapping[str, str]) -> list[str]:
        return self.config.lines(self.env, key, self.posargs, environment)

    def _command(self, line: str) -> str | None:
        """Return a command line relative to its folder; None if its failure would not count."""
        ignored = line.startswith("-")
        line = re.sub(r"^[-!]\s*", "", line)
        line = re.sub(r"(?<!\S)\[\](?!\S)", lambda _: shlex.join(self.posargs), line)
        if ignored and re.match(r"(?:coverage|ruff|black|mypy|flake8|pytest|codecov)\b", line):
            self.context.log.dropped(line, "its failure does not count")
            return None
        up = self._up()
        return re.sub(
            r"\$PWD_OF_TOX(?:/|(?![\w/]))",
            lambda found: up if found[0].endswith("/") else up.rstrip("/"),
            line,
        )

    def _up(self) -> str:
        """Return the path from the commands' folder to tox's: `../` or `./`."""
        there, here = self._folder(), self.config.folder
        if there == here:
            return "./"
        inner = there.removeprefix(f"{here}/") if here != "." else there
        return "../" * (inner.count("/") + 1)

    def _folder(self) -> str:
        given = (
            self.config.text(self.env, "change_dir")
            .replace("$PWD_OF_TOX/", "")
            .replace("$PWD_OF_TOX", ".")
        )
        return (inside(self.config.folder, given) if given else None) or self.config.folder

    def _variables(self, environment: Mapping[str, str]) -> dict[str, str]:
        found: dict[str, str] = {}
        for line in self._lines("set_env", environment):
            name, equals, value = line.partition("=")
            # A remaining brace is a substitution that only tox could make.
            if equals and re.fullmatch(r"[A-Za-z_]\w{0,99}", name.strip()) and "{" not in value:
                up = self._up()
                found[name.strip()] = (
                    value.strip()
                    .replace("$PWD_OF_TOX/", "" if up == "./" else up)
                    .replace("$PWD_OF_TOX", up)
                )
        # tox's folder of programs is not here, and the sandbox has its own PATH.
        return {name: value for name, value in found.items() if name != "PATH"}

    def _python(self) -> str | None:
        return _environment_python(self.env, self.config)

    def _requirements(self, environment: Mapping[str, str]) -> Requirements:
        wanted = Requirements()
        call = Call(
            words=("pip", "install"),
            shown=("pip", "install"),
            text="pip install",
            folder=self.config.folder,
        )
        for line in self._lines("deps", environment):
            plain = line.replace("$PWD_OF_TOX/", "").replace("$PWD_OF_TOX", ".")
            if plain.startswith("-"):
                wanted = wanted.plus(
                    pip.read_install(call, tuple(split_command(plain)), self.context)
                )
            else:
                wanted = wanted.plus(
                    clean_lines(
                        [plain], f"{self.config.path}: deps", self.context.log, self.config.folder
                    ).as_for_tests()
                )
        for line in self._lines("constraints", environment):
            path = inside(self.config.folder, line.replace("$PWD_OF_TOX/", ""))
            if path is not None:
                wanted = wanted.plus(read_constraint_file(path, self.context.files).with_(files=()))
        extras = tuple(expand_names(",".join(self._lines("extras", environment))))
        groups = tuple(expand_names(",".join(self._lines("dependency_groups", environment))))
        locked = self.config.text(self.env, "runner") == "uv-venv-lock-runner"
        if not self._is_skipped():
            folder = self._package_root()
            wanted = wanted.plus(Requirements(local=(Local(folder=folder, extras=extras),)))
        if locked or groups:
            names = (*extras, *groups) if locked else groups
            lock = "uv.lock" if locked else ""
            itself = locked and not self._is_skipped()
            wanted = wanted.plus(
                whole_project(
                    self.context, self.config.folder, names, lock, itself=itself, only=not locked
                )
            )
        return wanted

    def _package_root(self) -> str:
        given = (
            self.config.text(self.env, "package_root")
            .replace("$PWD_OF_TOX/", "")
            .replace("$PWD_OF_TOX", ".")
        )
        return (inside(self.config.folder, given) if given else None) or self.config.folder

    def _is_skipped(self) -> bool:
        """Return True if the project itself is not installed."""
        own = self.config.text(self.env, "skip_install").lower() in {"true", "1", "yes"}
        never = self.config.sections.get("tox", {}).get("no_package", "").strip().lower() in {
            "true",
            "1",
            "yes",
        }
        develops = self.config.text(self.env, "use_develop").lower() in {"true", "1", "yes"}
        skipped = self.config.text(self.env, "package") == "skip"
        return (
            own
            or skipped
            # `use_develop` installs the project even where no package is built.
            or (never and not develops)
            or not self.context.files.is_project(self._package_root())
        )
