"""Actions that are a check themselves, and the commands that they wrap, with their inputs."""

import re
import shlex
from collections.abc import Callable, Mapping, Sequence

from sandbox.recipe.hook_selection import Selection

_MARKDOWNLINT = {
    "7": "0.5.1", "8": "0.5.1", "9": "0.6.0", "10": "0.7.0", "11": "0.8.1", "12": "0.9.2",
    "13": "0.10.0", "14": "0.11.0", "15": "0.12.1", "16": "0.13.0", "17": "0.14.0",
    "18": "0.15.0", "19": "0.17.0", "20": "0.18.1", "21": "0.19.0", "22": "0.20.0",
    "23": "0.22.0", "24": "0.23.0",
}  # fmt: skip
"""Releases of markdownlint-cli2-action, with the markdownlint-cli2 of their `package.json`."""
_VERSION = re.compile(r"v?(\d[\w.-]{0,40})")
_FILTER_MODES = frozenset({"added", "diff_context", "file"})
"""Lines of a pull request whose findings reviewdog counts; its actions take the first one."""
_SEVERITIES = frozenset({"error", "warning", "info", "style"})


class ActionUse:
    """The inputs of one use of a check action.

    Args:
        inputs: Its `with`.
        ref: The requested release of the action, such as `v20`.
    """

    def __init__(self, inputs: Mapping[str, str], ref: str) -> None:
        self._inputs = inputs
        self._ref = ref

    def text(self, name: str, default: str = "") -> str:
        """Return an input without surrounding space; the default if it is empty."""
        return self._inputs.get(name, "").strip() or default

    def is_true(self, name: str) -> bool:
        """Return True if an input is `true`."""
        return self.text(name).lower() == "true"

    def options(self, *pairs: tuple[str, str]) -> list[str]:
        """Return the given inputs as quoted options.

        Args:
            pairs: Names of inputs and of options.
        """
        return [
            f"{option} {shlex.quote(self.text(name))}" for name, option in pairs if self.text(name)
        ]

    def repeated(self, name: str, option: str) -> list[str]:
        """Return an option for each word of an input."""
        words = re.split(r"[\s,]+", self.text(name))
        return [f"{option} {shlex.quote(word)}" for word in words if word]

    def version(self, name: str) -> str:
        """Return `@VERSION` of an input; empty if it names none."""
        found = _VERSION.fullmatch(self.text(name))
        return f"@{found[1]}" if found else ""

    def release(self) -> str:
        """Return the action's own major version."""
        found = re.match(r"v?(\d{1,3})(?![\da-f])", self._ref)
        return found[1] if found else ""


CheckAction = Callable[[ActionUse], str]


def check_script(name: str, inputs: Mapping[str, str], ref: str) -> str:
    """Return the script that a check action wraps; empty for any other action.

    Args:
        name: `owner/repository/path` in lower case, without its version.
        inputs: Its `with`.
        ref: The requested release.
    """
    action = _CHECKS.get(name)
    return action(ActionUse(inputs, ref)) if action is not None else ""


def filter_note(name: str, inputs: Mapping[str, str]) -> str:
    """Return how CI filters the findings of an action of reviewdog; empty if all of them count.

    The lines that a pull request adds are unknown while a recipe is planned.

    Args:
        name: `owner/repository/path` in lower case, without its version.
        inputs: Its `with`.
    """
    mode = inputs.get("filter_mode", "").strip()
    if not name.startswith("reviewdog/") or mode == "nofilter":
        return ""
    mode = mode if mode in _FILTER_MODES else "added"
    return f"all findings count here, in CI perhaps only those of `filter_mode: {mode}`; "


def _line(*words: str | Sequence[str]) -> str:
    parts = [word for one in words for word in ([one] if isinstance(one, str) else one)]
    return " ".join(word for word in parts if word)


def _markdownlint_cli2(use: ActionUse) -> str:
    version = _MARKDOWNLINT.get(use.release(), "")
    package = f"markdownlint-cli2@{version}" if version else "markdownlint-cli2"
    globs = use.text("globs", "*.{md,markdown}").split(use.text("separator", "\n"))
    names = [shlex.quote(one.strip()) for one in globs if one.strip()]
    options = use.options(("config", "--config"), ("configPointer", "--configPointer"))
    fix = "--fix" if use.is_true("fix") else ""
    return f"npm install -g {package}\n{_line('markdownlint-cli2', names, options, fix)}"


def _markdownlint(use: ActionUse) -> str:
    """Return the command of actions that wrap `markdownlint-cli`."""
    options = use.options(("config_file", "--config"), ("config", "--config"), ("rules", "--rules"))
    options += use.repeated("ignore_files", "--ignore") or use.repeated("ignore", "--ignore")
    options += ["--dot"] if use.is_true("dot") else []
    files = use.text("files", use.text("args", use.text("markdownlint_flags", ".")))
    package = f"markdownlint-cli{use.version('version')}"
    return f"npm install -g {package}\n{_line('markdownlint', options, files)}"


def _shellcheck(use: ActionUse) -> str:
    """Return the command of `action-shellcheck`: files by suffix, or programs by first line."""
    ignored = use.text("ignore", use.text("ignore_paths")).split()
    exclude = [rf"(^|/){_as_pattern(one)}(/|$)" for one in ignored]
    exclude += [rf"(^|/){_as_pattern(one)}$" for one in use.text("ignore_names").split()]
    folder = use.text("scandir", ".").removeprefix("./").strip("/")
    files = [] if folder in {"", "."} else [f"^{_as_pattern(folder)}/"]
    severity = use.text("severity")
    options = [f"-S {severity}"] if severity in _SEVERITIES else []
    selection = Selection(
        files=tuple(files),
        exclude=(r"\.go$|(^|/)mvnw$", *exclude),
        types_or=("shell",),
    )
    return selection.command(_line("shellcheck", options, "--format=gcc"))


def _reviewdog_shellcheck(use: ActionUse) -> str:
    folder = use.text("path", ".").removeprefix("./").strip("/")
    files = [] if folder in {"", "."} else [f"^{_as_pattern(folder)}/"]
    files.append(rf"(^|/){_as_pattern(use.text('pattern', '*.sh'))}$")
    ignored = use.text("exclude").replace("./", "").split()
    exclude = tuple(f"^{_as_pattern(one)}$" for one in ignored)
    flags = use.text("shellcheck_flags", "--external-sources")
    selection = Selection(files=tuple(files), exclude=exclude)
    return selection.command(f"shellcheck {flags}")


def _hadolint(use: ActionUse) -> str:
    options = use.options(("config", "--config"), ("failure-threshold", "--failure-threshold"))
    options += use.repeated("ignore", "--ignore")
    options += use.repeated("trusted-registries", "--trusted-registry")
    for severity in sorted(_SEVERITIES):
        options += use.repeated(f"override-{severity}", f"--{severity}")
    options += ["--no-fail"] if use.is_true("no-fail") else []
    file = use.text("dockerfile", "Dockerfile")
    command = _line("hadolint", options)
    if use.is_true("recursive"):
        return Selection(files=(rf"(^|/){_as_pattern(file)}$",)).command(command)
    return f"{command} {shlex.quote(file)}"


def _as_pattern(word: str) -> str:
    """Return a file name of a shell, with `*` and `?`, as a regular expression."""
    plain = re.escape(word.strip("/"))
    return plain.replace(r"\*\*", ".*").replace(r"\*", "[^/]*").replace(r"\?", "[^/]")


def _actionlint(use: ActionUse) -> str:
    flags = use.text("flags", use.text("actionlint_flags", use.text("args")))
    return _line("actionlint", flags, use.text("files").replace(",", " "))


def _yamllint(use: ActionUse) -> str:
    options = use.options(
        *(("config_file", "-c"), ("config_data", "-d"), ("config", "-c")),
        ("yamllint_config_filepath", "-c"),
    )
    is_strict = use.is_true("strict") or use.text("yamllint_strict") in {"1", "true"}
    options += ["--strict"] if is_strict else []
    options += ["--no-warnings"] if use.is_true("no_warnings") else []
    places = use.text("file_or_dir", use.text("yamllint_file_or_dir", use.text("path", ".")))
    return _line("yamllint -f parsable", options, places)


def _golangci_lint(use: ActionUse) -> str:
    folder = use.text("working-directory", use.text("workdir"))
    flags = use.text("args", use.text("golangci_lint_flags"))
    command = _line("golangci-lint run", flags)
    return f"cd {shlex.quote(folder)} && {command}" if folder else command


def _prettier(use: ActionUse) -> str:
    """Return the command of `prettier_action`, which fails for changes only in a dry run."""
    words = use.text("prettier_options", "--write **/*.js")
    if use.is_true("dry"):
        words = re.sub(r"(?<!\S)(?:--write|-w)(?!\S)", "--check", words)
    plugins = use.text("prettier_plugins")
    package = f"prettier{use.version('prettier_version')}"
    return f"npm install -g {_line(package, plugins)}\nprettier {words}"


def _prettier_of_release(use: ActionUse) -> str:
    release = use.release()
    package = f"prettier@{release}" if release in {"2", "3"} else "prettier"
    return f"npm install -g {package}\nprettier {use.text('args', '--check .')}"


def _biome(use: ActionUse) -> str:
    return f"npm install -g @biomejs/biome{use.version('version')}"


def _typos(use: ActionUse) -> str:
    isolated = "--isolated" if use.is_true("isolated") else ""
    return _line("typos", use.options(("config", "--config")), isolated, use.text("files"))


def _cargo(use: ActionUse) -> str:
    program = "cross" if use.is_true("use-cross") else "cargo"
    channel = use.text("toolchain").removeprefix("+")
    words = (f"+{shlex.quote(channel)}" if channel else "", use.text("command"), use.text("args"))
    return _line(program, words)


def _clippy(use: ActionUse) -> str:
    channel = use.text("toolchain").removeprefix("+")
    return _line("cargo", f"+{shlex.quote(channel)}" if channel else "", "clippy", use.text("args"))


def _govulncheck(use: ActionUse) -> str:
    package = shlex.quote(use.text("go-package", "./..."))
    return f"{_enter(use.text('work-dir', '.'))}govulncheck {package}"


def _staticcheck(use: ActionUse) -> str:
    return f"{_enter(use.text('working-directory', '.'))}staticcheck ./..."


def _enter(folder: str) -> str:
    return "" if folder in {".", "./"} else f"cd {shlex.quote(folder)} && "


def _flags(program: str, name: str, default: str = ".") -> CheckAction:
    """Return the reader of an action of reviewdog that passes flags to a program."""

    def read(use: ActionUse) -> str:
        return f"{_enter(use.text('workdir', '.'))}{program} {use.text(name, default)}"

    return read


_CHECKS: dict[str, CheckAction] = {
    "actions-rs/cargo": _cargo,
    "actions-rs/clippy-check": _clippy,
    "actionsx/prettier": _prettier_of_release,
    "articulate/actions-markdownlint": _markdownlint,
    "avto-dev/markdown-lint": _markdownlint,
    "biomejs/setup-biome": _biome,
    "clechasseur/rs-cargo": _cargo,
    "clechasseur/rs-clippy-check": _clippy,
    "creyd/prettier_action": _prettier,
    "crate-ci/typos": _typos,
    "davidanson/markdownlint-cli2-action": _markdownlint_cli2,
    "devops-actions/actionlint": _actionlint,
    "dominikh/staticcheck-action": _staticcheck,
    "docker://avtodev/markdown-lint": _markdownlint,
    "docker://rhysd/actionlint": _actionlint,
    "frenck/action-yamllint": _yamllint,
    "golang/govulncheck-action": _govulncheck,
    "golangci/golangci-lint-action": _golangci_lint,
    "hadolint/hadolint-action": _hadolint,
    "ibiqlik/action-yamllint": _yamllint,
    "karancode/yamllint-github-action": _yamllint,
    "ludeeus/action-shellcheck": _shellcheck,
    "nosborn/github-action-markdown-cli": _markdownlint,
    "raven-actions/actionlint": _actionlint,
    "reviewdog/action-actionlint": _actionlint,
    "reviewdog/action-black": _flags("black", "black_args", "--check ."),
    "reviewdog/action-eslint": _flags("npx eslint", "eslint_flags"),
    "reviewdog/action-flake8": _flags("flake8", "flake8_args"),
    "reviewdog/action-golangci-lint": _golangci_lint,
    "reviewdog/action-markdownlint": _markdownlint,
    "reviewdog/action-shellcheck": _reviewdog_shellcheck,
    "reviewdog/action-stylelint": _flags("npx stylelint", "stylelint_input", "'**/*.css'"),
    "reviewdog/action-yamllint": _flags("yamllint", "yamllint_flags"),
}
"""Actions by name, in lower case."""
