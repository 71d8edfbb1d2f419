"""Read all forms of `pip install` as requirements."""

import re

from sandbox.recipe.declared import project_in
from sandbox.recipe.files import inside
from sandbox.recipe.job import ToolReading
from sandbox.recipe.requirements import (
    Requirements,
    clean_lines,
    normal_name,
    read_constraint_file,
    read_requirement_file,
)
from sandbox.recipe.shell.walk import Call
from sandbox.recipe.tools.base import Options, ToolContext, read_options

INSTALL_OPTIONS = frozenset(
    {
        "-r",
        "--requirement",
        "--requirements",
        "-c",
        "--constraint",
        "--constraints",
        "-e",
        "--editable",
        "--group",
    }
    | {
        "-i",
        "--index-url",
        "--extra-index-url",
        "-f",
        "--find-links",
        "--trusted-host",
        "--index",
        "--default-index",
    }
    | {
        "-t",
        "--target",
        "--prefix",
        "--root",
        "--src",
        "--python",
        "-p",
        "--timeout",
        "--retries",
        "--cache-dir",
    }
    | {
        "--platform",
        "--python-version",
        "--progress-bar",
        "--no-binary",
        "--only-binary",
        "--upgrade-strategy",
    }
    | {
        "--config-settings",
        "-C",
        "--global-option",
        "--log",
        "--proxy",
        "--cert",
        "--root-user-action",
        "--extra",
    }
    | {
        "--override",
        "--resolution",
        "--prerelease",
        "--python-platform",
        "--torch-backend",
        "-P",
        "--upgrade-package",
    }
)
_TOOLS = frozenset({"pip", "setuptools", "wheel", "uv", "pip-tools", "virtualenv", "pipenv",
    "poetry", "pdm", "hatch",
    "tox", "nox", "tox-gh-actions", "tox-gh", "tox-uv", "build", "twine", "codecov", "coveralls",
    "pipx", "rye",
    "nox-uv", "nox-poetry", "tox-pdm", "poetry-core", "poetry-plugin-export",
    "poetry-dynamic-versioning",
    "pre-commit", "pre-commit-uv", "tox-travis", "tox-venv", "tox-factor",
    "tox-pyenv"})  # fmt: skip
"""Tools that only create environments, which the recipe does not need."""
_PLUGIN = re.compile(r"(?:tox|nox|pre-commit|poetry-plugin)-\w")
_LOOKS = frozenset(
    {
        "list",
        "freeze",
        "show",
        "check",
        "--version",
        "-V",
        "debug",
        "config",
        "cache",
        "--help",
        "help",
        "inspect",
    }
)
_CLUSTER = re.compile(r"^-[UqvI]+([rce])(.*)$", re.DOTALL)
"""`-Ur requirements.txt`"""
_WHEEL = re.compile(r"(?:.*/)?[^/]*(?:\.whl|\.tar\.gz|\.zip)(?:\[([\w.,-]+)\])?")


def read(call: Call, context: ToolContext) -> ToolReading | None:
    """Read `pip install ...`; other subcommands do nothing."""
    words = call.words[1:]
    while words and words[0].startswith("-"):
        words = (
            words[2:]
            if words[0] in {"--python", "--log", "--proxy", "--cert", "--cache-dir"}
            else words[1:]
        )
    if not words or words[0] in _LOOKS:
        return ToolReading()
    if words[0] == "uninstall":
        context.log.dropped(call.line(), "packages are not uninstalled")
        return ToolReading()
    if words[0] in {"download", "wheel", "hash"}:
        context.log.dropped(call.line(), "it does not affect the tests")
        return ToolReading()
    if words[0] == "sync":  # `uv pip sync requirements.txt`
        words = (
            "install",
            *(
                part
                for word in words[1:]
                for part in (("-r", word) if not word.startswith("-") else (word,))
            ),
        )
    return (
        ToolReading(wanted=read_install(call, words[1:], context))
        if words[0] == "install"
        else None
    )


def read_install(call: Call, words: tuple[str, ...], context: ToolContext) -> Requirements:
    """Read the arguments of `install` as requirements."""
    apart = (
        _CLUSTER.sub(r"-\1 \2", word).split(" ") if _CLUSTER.match(word) else [word]
        for word in words
    )
    options = read_options([word for words_ in apart for word in words_ if word], INSTALL_OPTIONS)
    asked = [_option(name, value, call, context) for name, value in options.given]
    plain = [word for word in (*options.positional, *options.rest) if not _is_tool(_base(word))]
    if options.has("--find-links", "-f", "--no-index"):
        plain = [_from_checkout(word, call, context) for word in plain]
    if "pip" in call.line() and len(plain) < len(options.positional):
        context.log.replaced(
            call.line(),
            "uv creates the environment: other tools for that are left out",
        )
    asked += [_read_positional(word, call, context) for word in plain]
    extras = options.split("--extra")
    if extras or options.has("--all-extras"):
        asked.append(_own_extras(call, extras, context))
    asked.append(unsupported_resolution(options))
    wanted = Requirements().plus(*asked)
    if options.has("--no-deps"):
        wanted = wanted.with_(local=tuple(local.with_(alone=True) for local in wanted.local))
    if wanted != Requirements():
        context.log.replayed(call.line(), "with uv, from wheels")
    return wanted


def unsupported_resolution(options: Options) -> Requirements:
    """Return what is missing if the job asks for other versions than the highest ones."""
    asked = next(reversed(options.values("--resolution")), "highest")
    if asked == "highest":
        return Requirements()
    return Requirements(
        missing=(f"`--resolution {asked[:40]}`: only the highest versions are installed here",)
    )


def _option(name: str, value: str, call: Call, context: ToolContext) -> Requirements:
    if name in {"-r", "--requirement", "--requirements"}:
        return _file(value, call, context)
    if name in {"-c", "--constraint", "--constraints", "--override"}:
        path = inside(call.folder, value)
        if path is None or "://" in value:
            context.log.dropped(
                f"{name} {value}", "bounds are read from files of the checkout only"
            )
            return Requirements()
        return read_constraint_file(path, context.files).with_(files=())
    if name in {"-e", "--editable"}:
        plain = f"./{value}" if re.match(r"[\w-]+(?:\[|$)", value) else value
        return clean_lines([f"-e {plain}"], call.line(), context.log, call.folder)
    if name == "--group":
        path, _, group = value.rpartition(":")
        folder = (
            inside(call.folder, path.rpartition("/")[0] or ".") or call.folder
            if path
            else call.folder
        )
        project = project_in(context.files, folder)
        return project.resolve_elsewhere(project.only_extras([group]))
    if name in {
        "-i",
        "--index-url",
        "--extra-index-url",
        "-f",
        "--find-links",
        "--index",
        "--default-index",
    }:
        context.log.dropped(f"{name} {value}", "the operator chooses the index")
    return Requirements()


def _file(value: str, call: Call, context: ToolContext) -> Requirements:
    path = inside(call.folder, value)
    if path is None or "://" in value:
        context.log.dropped(f"-r {value}", "requirement files are read from the checkout only")
        return Requirements(missing=(f"the requirement file {value}: it is not in the checkout",))
    if path.endswith("pyproject.toml"):
        return project_in(context.files, path.rpartition("/")[0] or ".").wanted
    found = read_requirement_file(path, context.files, folder=call.folder)
    if path in context.files.names and path not in context.files.contents:
        missing = f"the requirement file {path}: it was not recognised as one, and is not read"
        return found.with_(missing=(*found.missing, missing))
    return found


def _read_positional(word: str, call: Call, context: ToolContext) -> Requirements:
    """Read a positional argument: a requirement, a local project, or a built distribution."""
    if "${{" in word or "$(" in word or "`" in word or "${" in word or "$" in word:
        if _WHEEL.fullmatch(word) or "dist" in word:
            return _read_distribution(word, call, context)
        context.log.dropped(f"{call.line()}: {word}", "its value is only known at run time")
        return Requirements(
            missing=(f"the requirement {word}: its value is only known at run time",)
        )
    if (
        "://" not in word
        and "@" not in word
        and (_WHEEL.fullmatch(word) or word.startswith(("dist/", "./dist/")))
    ):
        return _read_distribution(word, call, context)
    plain = word.rstrip("/")
    bare, bracket, extras = plain.partition("[")
    place = inside(call.folder, bare) if bare else None
    if (
        place is not None
        and not bare.startswith(".")
        and "/" not in bare
        and _is_plain_folder(word, place, context)
    ):
        plain = f"./{bare}{bracket}{extras}"  # `pip install folder/`
    return clean_lines([plain], call.line(), context.log, call.folder)


def _is_plain_folder(word: str, place: str, context: ToolContext) -> bool:
    return word.endswith("/") and context.files.is_project(place)


def _read_distribution(word: str, call: Call, context: ToolContext) -> Requirements:
    """Read `pip install dist/*.whl`: the built distribution is the project itself."""
    context.log.replaced(
        call.line(), "the project counts as installed instead of what was built from it"
    )
    extras = re.search(r"\[([\w.,-]+)\]", word)
    return clean_lines(
        [f".[{extras[1]}]" if extras else "-e ."],
        call.line(),
        context.log,
        _distribution_folder(word, call),
    )


def _distribution_folder(word: str, call: Call) -> str:
    """Return the project of a built distribution: the parent folder of `dist`."""
    before = word.partition("dist/")[0].rstrip("/") if "dist/" in word else ""
    return (inside(call.folder, before) if before and "$" not in before else None) or call.folder


def _own_extras(call: Call, extras: list[str], context: ToolContext) -> Requirements:
    project = project_in(context.files, call.folder)
    return project.only_extras(extras or project.extras)


def _is_tool(name: str) -> bool:
    return name in _TOOLS or _PLUGIN.match(name) is not None


def _from_checkout(word: str, call: Call, context: ToolContext) -> str:
    """Return the project itself for its own name: it is built from this commit."""
    name = project_in(context.files, call.folder).name
    if name is None or normal_name(name) != normal_name(_base(word)):
        return word
    extras = re.search(r"\[[^\]]*\]", word)
    return f".{extras[0]}" if extras else "."


def _base(word: str) -> str:
    return re.split(r"[\[=<>~!;@ ]", word, maxsplit=1)[0].lower()
