"""`tox -e py311`: the environments that are meant, with what they install and run."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from sandbox.recipe.files import inside
from sandbox.recipe.job import ToolReading
from sandbox.recipe.requirements import Local, Wanted, clean_lines, read_constraint_file
from sandbox.recipe.shell.walk import Call
from sandbox.recipe.shell.words import words_of
from sandbox.recipe.tools import pip
from sandbox.recipe.tools.base import Desk, Options, read_options
from sandbox.recipe.tools.projects import whole_project
from sandbox.recipe.tools.tox_config import ToxConfig, expand_names, factors_of, python_of, read_tox

_VALUED = frozenset(
    {"-e", "-c", "--conf", "--workdir", "--work-dir", "-p", "--parallel", "-f", "-m", "-x", "--override", "-o"}
    | {"--result-json", "--installpkg", "--skip-env", "--default-runner", "--root", "--hashseed", "--develop-python"}
    | {"--discover", "--color", "--colored", "--parallel-no-spinner-x", "-s", "--force-dep", "--runner"}
)
_RUNS = frozenset({"run", "r", "run-parallel", "p", "legacy", "le", "devenv", "d", "exec"})
_LISTS = frozenset({"list", "l", "config", "c", "quickstart", "q", "depends", "de", "schema", "man"})
_MOST_ENVS = 8


def read(call: Call, desk: Desk) -> ToolReading | None:
    """One call of tox."""
    words = call.words[1:]
    if words[:1] and words[0] in _RUNS | _LISTS:
        if words[0] in _LISTS:
            return ToolReading()
        words = words[1:]
    options = read_options(words, _VALUED)
    if options.has("--version", "--help", "-l", "--listenvs", "-a", "--showconfig", "--notest", "-n"):
        return ToolReading()
    config = _config(call, options, desk)
    if config is None:
        desk.log.dropped(call.line(), "tox has no configuration in the checkout")
        return None
    envs = _chosen(call, options, config, desk)
    if not envs:
        desk.log.dropped(call.line(), f"{config.path} has no environment that fits")
        return None
    desk.log.replaced(call.line(), f"the commands of {', '.join(envs)} in {config.path} are run without tox")
    reading = ToolReading()
    for env in envs[:_MOST_ENVS]:
        one = _Environment(env, config, desk, options.rest or options.positional)
        reading = reading.plus(one.read(call.environment))
    return reading


def _config(call: Call, options: Options, desk: Desk) -> ToxConfig | None:
    named = next(iter(options.values("-c", "--conf", "--root")), None)
    if named is None:
        return read_tox(desk.files, call.folder) or (read_tox(desk.files, ".") if call.folder != "." else None)
    path = inside(call.folder, named)
    if path is None:
        return None
    if path.endswith((".ini", ".cfg", ".toml")):
        folder, _, name = path.rpartition("/")
        return read_tox(desk.files, folder or ".", name)
    return read_tox(desk.files, path)


def _chosen(call: Call, options: Options, config: ToxConfig, desk: Desk) -> list[str]:
    """The environments that run."""
    variables = {**desk.variables, **call.environment}
    asked = ",".join(options.values("-e")) or variables.get("TOXENV", "") or variables.get("TOX_ENV", "")
    named = expand_names(_known(asked, desk))
    if named and named != ["ALL"]:
        return named
    listed = config.env_list()
    if labels := options.split("-m"):
        return [env for label in labels for env in _label(label, config)] or listed[:1]
    if factors := options.values("-f"):
        wanted = [set(re.split(r"[-, ]", _known(value, desk))) for value in factors]
        return [env for env in listed if any(w <= factors_of(env) for w in wanted)]
    mapped = _by_github(config, listed, desk)
    if mapped is not None:
        return mapped
    listed = [env for env in listed if not env.startswith(("pypy", "jython"))] or listed
    here = [env for env in listed if _python_of(env, config) in {None, desk.python}]
    if desk.python is None:  # the job says no Python: one test environment stands for all
        here = [env for env in listed if _python_of(env, config) in {None, _first_python(listed)}]
    if not here and listed:
        desk.log.replaced("tox", f"no environment is for Python {desk.python}: {listed[0]} is taken")
        return listed[:1]
    # environments that publish or document are seldom what fails, and tests come first in most lists
    return here or ["py"]


def _known(text: str, desk: Desk) -> str:
    """With variables that only a shell knows taken for the job's Python, which is what they nearly always are."""
    factor = f"py{desk.python.replace('.', '')}" if desk.python is not None else "py"
    return re.sub(r"\$\{?\w+\}?", factor, text)


def _python_of(env: str, config: ToxConfig) -> str | None:
    """The Python an environment asks for by its name, else by its settings."""
    given = config.text(env, "base_python").split(",")[0].strip()
    return python_of(env) or (python_of(given) if given else None)


def _first_python(listed: list[str]) -> str | None:
    return next((python for env in listed if (python := python_of(env)) is not None), None)


def _label(label: str, config: ToxConfig) -> list[str]:
    lines = config.sections.get("tox", {}).get("labels", "").split("\n")
    found = [names for line in lines for key, equals, names in [line.partition("=")] if equals and key.strip() == label]
    own = [env for env in config.env_list() if label in expand_names(config.text(env, "labels"))]
    return [env for names in found for env in expand_names(names)] or own


def _by_github(config: ToxConfig, listed: list[str], desk: Desk) -> list[str] | None:
    """What tox-gh-actions or tox-gh would choose for the job's Python; None when neither is configured."""
    for name in ("gh-actions", "gh"):
        table = config.sections.get(name, {}).get("python")
        if table is None or desk.python is None:
            continue
        for line in table.split("\n"):
            found = re.fullmatch(r"\s*(?:pypy-?)?([\d.]+(?:-dev)?)\s*[:=]\s*(.+?)\s*", line)
            if found is None or found[1].removesuffix("-dev") != desk.python:
                continue
            names = expand_names(found[2])
            if name == "gh":
                return names
            wanted = [set(item.split("-")) for item in names]
            return [env for env in listed if any(w <= factors_of(env) for w in wanted)] or names
    return None


@dataclass(frozen=True)
class _Environment:
    """One environment of tox."""

    env: str
    config: ToxConfig
    desk: Desk
    posargs: tuple[str, ...]

    def read(self, environment: Mapping[str, str]) -> ToolReading:
        """What it installs and runs."""
        variables = {**environment, **self._variables({**self.desk.variables, **environment})}
        folder = self._folder()
        reading = ToolReading(wanted=self._installed(variables), python=self._python())
        for key in ("commands_pre", "commands"):
            for line in self._lines(key, variables):
                if (command := self._command(line)) is not None:
                    reading = reading.plus(self.desk.script(command, folder, variables))
        return reading

    def _lines(self, key: str, environment: Mapping[str, str]) -> list[str]:
        return self.config.lines(self.env, key, self.posargs, environment)

    def _command(self, line: str) -> str | None:
        """A command line, seen from the folder it runs in; None when its failure would not count."""
        ignored = line.startswith("-")
        line = re.sub(r"^[-!]\s*", "", line)
        if ignored and re.match(r"(?:coverage|ruff|black|mypy|flake8|pytest|codecov)\b", line):
            self.desk.log.dropped(line, "its failure does not count")
            return None
        up = self._up()
        return re.sub(
            r"\$PWD_OF_TOX(?:/|(?![\w/]))", lambda found: up if found[0].endswith("/") else up.rstrip("/"), line
        )

    def _up(self) -> str:
        """From the folder the commands run in to the one tox was started in, `../` or `./`."""
        there, here = self._folder(), self.config.folder
        if there == here:
            return "./"
        inner = there.removeprefix(f"{here}/") if here != "." else there
        return "../" * (inner.count("/") + 1)

    def _folder(self) -> str:
        given = self.config.text(self.env, "change_dir").replace("$PWD_OF_TOX/", "").replace("$PWD_OF_TOX", ".")
        return (inside(self.config.folder, given) if given else None) or self.config.folder

    def _variables(self, environment: Mapping[str, str]) -> dict[str, str]:
        found: dict[str, str] = {}
        for line in self._lines("set_env", environment):
            name, equals, value = line.partition("=")
            if equals and re.fullmatch(r"[A-Za-z_]\w{0,99}", name.strip()) and "{" not in value:
                up = self._up()
                found[name.strip()] = (
                    value.strip().replace("$PWD_OF_TOX/", "" if up == "./" else up).replace("$PWD_OF_TOX", up)
                )
        return {name: value for name, value in found.items() if name != "PATH"}

    def _python(self) -> str | None:
        return _python_of(self.env, self.config)

    def _installed(self, environment: Mapping[str, str]) -> Wanted:
        wanted = Wanted()
        call = Call(words=("pip", "install"), shown=("pip", "install"), text="pip install", folder=self.config.folder)
        for line in self._lines("deps", environment):
            plain = line.replace("$PWD_OF_TOX/", "").replace("$PWD_OF_TOX", ".")
            if plain.startswith("-"):
                wanted = wanted.plus(pip.read_install(call, tuple(words_of(plain)), self.desk))
            else:
                wanted = wanted.plus(
                    clean_lines([plain], f"{self.config.path}: deps", self.desk.log, self.config.folder)
                )
        for line in self._lines("constraints", environment):
            path = inside(self.config.folder, line.replace("$PWD_OF_TOX/", ""))
            if path is not None:
                wanted = wanted.plus(
                    read_constraint_file(path, self.desk.files.contents, self.desk.log).with_(files=())
                )
        extras = tuple(expand_names(",".join(self._lines("extras", environment))))
        groups = tuple(expand_names(",".join(self._lines("dependency_groups", environment))))
        locked = self.config.text(self.env, "runner") == "uv-venv-lock-runner"
        if not self._is_skipped():
            folder = self._package_root()
            wanted = wanted.plus(Wanted(local=(Local(folder=folder, extras=extras),)))
        if locked or groups:
            names = (*extras, *groups) if locked else groups
            lock = "uv.lock" if locked else ""
            itself = locked and not self._is_skipped()
            wanted = wanted.plus(
                whole_project(self.desk, self.config.folder, names, lock, itself=itself, only=not locked)
            )
        return wanted

    def _package_root(self) -> str:
        given = self.config.text(self.env, "package_root").replace("$PWD_OF_TOX/", "").replace("$PWD_OF_TOX", ".")
        return (inside(self.config.folder, given) if given else None) or self.config.folder

    def _is_skipped(self) -> bool:
        """Whether the project itself is not installed."""
        own = self.config.text(self.env, "skip_install").lower() in {"true", "1", "yes"}
        never = self.config.sections.get("tox", {}).get("no_package", "").strip().lower() in {"true", "1", "yes"}
        develops = self.config.text(self.env, "use_develop").lower() in {"true", "1", "yes"}
        skipped = self.config.text(self.env, "package") == "skip"
        return own or skipped or (never and not develops) or not self.desk.files.is_project(self._package_root())
