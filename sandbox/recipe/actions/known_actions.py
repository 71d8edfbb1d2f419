"""Common actions and their replacements here."""

import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from sandbox.recipe.actions.check_actions import check_script, filter_note

Inputs = Mapping[str, str]


@dataclass(frozen=True)
class Effect:
    """The effect of an external action."""

    treatment: Literal["replayed", "replaced", "dropped"]
    reason: str
    script: str = ""
    """The command that it wraps."""
    obstacle: str = ""
    """The missing part of a job that uses it and fails in a test."""


NOTHING_KEPT = "there is no cache between jobs here"
_REPORTS = "it only reports"
_OWN_TOOLS = "what it installs is read from the project's own files, and installed with uv"
_CACHES = (
    "actions/cache",
    "swatinem/rust-cache",
    "hendrikmuhs/ccache-action",
    "tespkg/actions-cache",
)
_REPORTERS = (
    *(
        "actions/upload-artifact",
        "actions/upload-pages-artifact",
        "actions/github-script",
        "actions/labeler",
    ),
    *(
        "codecov/",
        "coverallsapp/",
        "codacy/",
        "codeclimate/",
        "paambaati/",
        "py-cov-action/",
        "5monkeys/",
        "orgoro/",
    ),
    *(
        "enricomi/publish-unit-test-result-action",
        "dorny/test-reporter",
        "mikepenz/action-junit-report",
        "dorny/paths-filter",
    ),
    *(
        "github/codeql-action",
        "mxschmitt/action-tmate",
        "slackapi/",
        "8398a7/action-slack",
        "styfle/cancel-workflow-action",
    ),
    *(
        "step-security/harden-runner",
        "jlumbroso/free-disk-space",
        "easimon/maximize-build-space",
        "crazy-max/ghaction-",
    ),
    *(
        "pyvista/setup-headless-display-action",
        "marocchino/",
        "peter-evans/",
        "softprops/",
        "test-summary/action",
    ),
)
_PYTHON_TOOLS = (
    *(
        "snok/install-poetry",
        "abatilo/actions-poetry",
        "gerlero/",
        "pypa/hatch",
        "install-pinned/",
        "wntrblm/nox",
    ),
    *(
        "pdm-project/setup-pdm",
        "astral-sh/setup-uv",
        "hynek/setup-cached-uv",
        "yezz123/setup-uv",
        "actions/setup-python",
    ),
    *(
        "extractions/setup-just",
        "extractions/setup-crate",
        "taiki-e/install-action",
        "tox-dev/",
        "dschep/install-pipenv-action",
    ),
    *(
        "casey/setup-just",
        "mikefarah/yq",
        "arduino/setup-task",
        "eifinger/setup-uv",
        "eifinger/setup-rye",
        "actions/setup-tox",
    ),
)
_TOOLCHAINS = {
    "actions/setup-node": "node",
    "pnpm/action-setup": "node",
    "pnpm/setup": "node",
    "bahmutov/npm-install": "node",
    "volta-cli/action": "node",
    "oven-sh/setup-bun": "bun",
    "denoland/setup-deno": "deno",
    "actions/setup-java": "java",
    "gradle/": "java",
    "graalvm/setup-graalvm": "java",
    "actions/setup-dotnet": "dotnet",
    "dtolnay/rust-toolchain": "rust",
    "actions-rs/": "rust",
    "actions-rust-lang/": "rust",
    "moonrepo/setup-rust": "rust",
    "ruby/setup-ruby": "ruby",
    "shivammathur/setup-php": "php",
    "julia-actions/": "julia",
    "r-lib/actions": "R",
    "erlef/setup-beam": "Erlang",
    "haskell-actions/": "Haskell",
    "haskell/actions": "Haskell",
    "microsoft/setup-msbuild": "MSBuild",
    "ilammy/msvc-dev-cmd": "MSVC",
}
_SERVERS = {
    "supercharge/redis-github-action": "redis",
    "shogo82148/actions-setup-redis": "redis",
    "zhulik/redis-action": "redis",
    "harmon758/postgresql-action": "postgresql",
    "ikalnytskyi/action-setup-postgres": "postgresql",
    "supercharge/mongodb-github-action": "mongodb",
    "getong/mariadb-action": "mariadb",
    "mirromutth/mysql-action": "mysql",
    "getong/elasticsearch-action": "elasticsearch",
    "rabbitmq/": "rabbitmq",
    "jamesives/": "",
}


def find_effect(name: str, inputs: Inputs, ref: str = "") -> Effect | None:
    """Return the replacement of an external action; None if the action is unknown.

    Args:
        name: `owner/repository/path` in lower case, without its version.
        inputs: Its `with`.
        ref: The requested release.
    """
    tool = _TOOLS.get(name)
    if script := tool(inputs) if tool is not None else check_script(name, inputs, ref):
        wrapped = f"the command it wraps: `{script.strip().splitlines()[-1]}`"
        return Effect("replaced", f"{filter_note(name, inputs)}{wrapped}", script=script)
    if name.startswith(_CACHES):
        return Effect("dropped", NOTHING_KEPT)
    if name.startswith(_REPORTERS):
        return Effect("dropped", _REPORTS)
    if name.startswith(_PYTHON_TOOLS):
        return Effect("replaced", _OWN_TOOLS)
    if server := next(
        (server for prefix, server in _SERVERS.items() if server and name.startswith(prefix)), ""
    ):
        return Effect(
            "dropped",
            "no service is started",
            obstacle=f"needs the service {server}, no service is started",
        )
    if language := next(
        (lang for prefix, lang in _TOOLCHAINS.items() if name.startswith(prefix)), ""
    ):
        return _set_up_language(language, name, inputs)
    return _find_special_effect(name, inputs)


def _set_up_language(language: str, name: str, inputs: Inputs) -> Effect:
    if language in {"node", "bun"}:
        reason = "the set-up installs the package manager that the project names"
        script = _node_install(name, inputs)
        return Effect("replaced", reason, script=script)
    if language == "rust":
        return Effect("replaced", "the image's own Rust is used")
    return Effect("dropped", f"{language} is not in the sandbox")


def _node_install(name: str, inputs: Inputs) -> str:
    """Return the installation that an action runs by itself; empty if it runs none."""
    match name:
        case "pnpm/setup":
            return "pnpm install" if inputs.get("install", "").lower() != "false" else ""
        case "pnpm/action-setup":
            asked = inputs.get("run_install", "").lower()
            return "pnpm install" if asked not in {"", "false", "null"} else ""
        case _:
            return ""


def _find_special_effect(name: str, inputs: Inputs) -> Effect | None:
    if name.startswith(
        ("docker/", "docker-practice/", "hoverkraft-tech/compose-action", "isbang/compose-action")
    ):
        return Effect("dropped", "no container is started inside the sandbox")
    if name.startswith(
        ("conda-incubator/", "mamba-org/", "prefix-dev/setup-pixi", "s-weigand/setup-conda")
    ):
        file = inputs.get("environment-file", "")
        needs = f"needs the conda environment {file}, conda is not in the sandbox" if file else ""
        packages = " ".join(
            (inputs.get("create-args", "") or inputs.get("extra-specs", "")).split()
        )[:200]
        if packages and not file:
            needs = f"needs conda packages ({packages}), conda is not in the sandbox"
        if name.startswith("prefix-dev/"):
            needs = "needs a pixi environment, pixi is not in the sandbox"
        return Effect("dropped", "conda is not in the sandbox", obstacle=needs)
    if name.startswith(
        (
            "awalsh128/cache-apt-pkgs-action",
            "tecolicom/actions-use-apt-tools",
            "daaku/gh-action-apt-install",
        )
    ):
        packages = inputs.get("packages") or inputs.get("tools") or ""
        return Effect("dropped", f"system packages are not installed: {packages}")
    # Such a job fails only because another one did.
    if name == "re-actors/alls-green":
        return Effect(
            "dropped",
            "it only sums up other jobs",
            obstacle="the job only sums up other jobs: rebuild one of those",
        )
    return None


def _install_pinned(tool: str, inputs: Inputs) -> str:
    """Return the line that installs an action's tool version, given as `22.1` or `~= 22.0`."""
    version = "".join(inputs.get("version", "").split())
    # The input comes from the workflow: nothing but a version may get into the script.
    if not re.fullmatch(r"(?:[~<>=!]=?)?\d[\w.,*<>=!~]{0,60}", version):
        return ""
    return f"pip install {shlex.quote(tool + ('==' if version[0].isdigit() else '') + version)}\n"


def _black(inputs: Inputs) -> str:
    return (
        f"{_install_pinned('black', inputs)}black {inputs.get('options', '--check --diff')} "
        f"{inputs.get('src', '.')}"
    )


def _ruff(inputs: Inputs) -> str:
    words = inputs.get("args", "check").strip() or "check"
    # Arguments may come without a subcommand, as older versions of ruff allowed.
    if words.split()[0] not in {"check", "format", "rule", "linter"}:
        words = f"check {words}"
    return f"{_install_pinned('ruff', inputs)}ruff {words} {inputs.get('src', '.')}".strip()


def _isort(inputs: Inputs) -> str:
    options = inputs.get("configuration", "--check-only --diff")
    return f"isort {options} {inputs.get('sort-paths', inputs.get('sortPaths', '.'))}"


def _flake8(inputs: Inputs) -> str:
    # The action takes `none` for no value.
    given = {name: text for name, text in inputs.items() if text not in {"", "none"}}
    names = ("ignore", "exclude", "max-line-length")
    options = _options(given, {name: f"--{name}=" for name in names})
    plugins = shlex.join(given.get("plugins", "").split())
    start = f"pip install {plugins}\n" if plugins else ""
    start += _install_pinned("flake8", {"version": given.get("flake8-version", "")})
    words = ("flake8", *options, given.get("args", ""), given.get("path", "."))
    return start + " ".join(word for word in words if word)


def _pre_commit(inputs: Inputs) -> str:
    return (
        f"pre-commit run --show-diff-on-failure --color=always "
        f"{inputs.get('extra_args', '--all-files')}"
    )


def _prek(inputs: Inputs) -> str:
    return f"prek run {inputs.get('extra-args', inputs.get('extra_args', '--all-files'))}"


def _pyright(inputs: Inputs) -> str:
    options = _options(inputs, {
        "project": "--project ",
        "python-version": "--pythonversion ",
        "level": "--level ",
    })  # fmt: skip
    options += ["--warnings"] if inputs.get("warnings", "").lower() == "true" else []
    return " ".join(
        [f"{_install_pinned('pyright', inputs)}pyright", *options, inputs.get("extra-args", "")]
    ).strip()


def _codespell(inputs: Inputs) -> str:
    options = _options(inputs, {
        "skip": "--skip=",
        "ignore_words_list": "--ignore-words-list=",
        "uri_ignore_words_list": "--uri-ignore-words-list=",
        "ignore_words_file": "--ignore-words=",
        "exclude_file": "--exclude-file=",
        "builtin": "--builtin=",
    })  # fmt: skip
    # The action takes any text for true.
    options += ["--check-filenames"] if inputs.get("check_filenames") else []
    options += ["--check-hidden"] if inputs.get("check_hidden") else []
    return " ".join(("codespell", *options, inputs.get("path", ".")))


def _options(inputs: Inputs, names: Mapping[str, str]) -> list[str]:
    """Return the given inputs as options.

    Args:
        inputs: The `with` of the action.
        names: The option of each input, with what stands before the value.
    """
    return [
        f"{option}{shlex.quote(inputs[name])}" for name, option in names.items() if inputs.get(name)
    ]


def _retry(inputs: Inputs) -> str:
    return inputs.get("command", "").strip() or "true"


def _install(inputs: Inputs) -> str:
    return f"pip install -r {shlex.quote(inputs.get('path', 'requirements.txt'))}"


WRAPPED_INPUTS = {
    **dict.fromkeys(
        ("nick-fields/retry", "nick-invision/retry", "wandalen/wretry.action"), "command"
    ),
    **dict.fromkeys(("gabrielbb/xvfb-action", "coactions/setup-xvfb"), "run"),
}
"""Inputs with the script of an action that only wraps one."""
_TOOLS: dict[str, Callable[[Inputs], str]] = {
    "psf/black": _black,
    "rickstaa/action-black": lambda inputs: f"black {inputs.get('black_args', '--check .')}",
    "astral-sh/ruff-action": _ruff,
    "chartboost/ruff-action": _ruff,
    "isort/isort-action": _isort,
    "jamescurtin/isort-action": _isort,
    "py-actions/flake8": _flake8,
    "py-actions/py-dependency-install": _install,
    "pre-commit/action": _pre_commit,
    "tox-dev/action-pre-commit-uv": _pre_commit,
    "j178/prek-action": _prek,
    "jakebailey/pyright-action": _pyright,
    "codespell-project/actions-codespell": _codespell,
    "tsuyoshicho/action-mypy": lambda inputs: f"mypy {inputs.get('target', '.')}",
    "jpetrucciani/mypy-check": lambda inputs: f"mypy {inputs.get('path', '.')}",
    "nick-fields/retry": _retry,
    "nick-invision/retry": _retry,
    "wandalen/wretry.action": _retry,
    "gabrielbb/xvfb-action": lambda inputs: inputs.get("run", "") or "true",
    "coactions/setup-xvfb": lambda inputs: inputs.get("run", "") or "true",
    "ymyzk/run-tox-gh-actions": lambda _: "tox",
}
