"""`pip install` in all its forms, as what it wants."""

import re

from sandbox.recipe.declared import project_in
from sandbox.recipe.files import inside
from sandbox.recipe.job import ToolReading
from sandbox.recipe.requirements import Wanted, clean_lines, read_constraint_file, read_requirement_file
from sandbox.recipe.shell.walk import Call
from sandbox.recipe.tools.base import Desk, read_options

INSTALL_OPTIONS = frozenset(
    {"-r", "--requirement", "--requirements", "-c", "--constraint", "--constraints", "-e", "--editable", "--group"}
    | {"-i", "--index-url", "--extra-index-url", "-f", "--find-links", "--trusted-host", "--index", "--default-index"}
    | {"-t", "--target", "--prefix", "--root", "--src", "--python", "-p", "--timeout", "--retries", "--cache-dir"}
    | {"--platform", "--python-version", "--progress-bar", "--no-binary", "--only-binary", "--upgrade-strategy"}
    | {"--config-settings", "-C", "--global-option", "--log", "--proxy", "--cert", "--root-user-action", "--extra"}
    | {"--override", "--resolution", "--prerelease", "--python-platform", "--torch-backend", "-P", "--upgrade-package"}
)
_TOOLS = frozenset({"pip", "setuptools", "wheel", "uv", "pip-tools", "virtualenv", "pipenv", "poetry", "pdm", "hatch",
    "tox", "nox", "tox-gh-actions", "tox-gh", "tox-uv", "build", "twine", "codecov", "coveralls", "pipx", "rye",
    "nox-uv", "nox-poetry", "tox-pdm", "poetry-core", "poetry-plugin-export", "poetry-dynamic-versioning",
    "pre-commit", "pre-commit-uv", "tox-travis", "tox-venv", "tox-factor", "tox-pyenv"})  # fmt: skip
"""What only makes environments: ours stands already."""
_LOOKS = frozenset(
    {"list", "freeze", "show", "check", "--version", "-V", "debug", "config", "cache", "--help", "help", "inspect"}
)
_CLUSTER = re.compile(r"^-[UqvI]+([rce])(.*)$", re.DOTALL)
"""`-Ur requirements.txt`"""
_WHEEL = re.compile(r"(?:.*/)?[^/]*(?:\.whl|\.tar\.gz|\.zip)(?:\[([\w.,-]+)\])?")


def read(call: Call, desk: Desk) -> ToolReading | None:
    """`pip install ...`; other subcommands do nothing."""
    words = call.words[1:]
    while words and words[0].startswith("-"):
        words = words[2:] if words[0] in {"--python", "--log", "--proxy", "--cert", "--cache-dir"} else words[1:]
    if not words or words[0] in _LOOKS:
        return ToolReading()
    if words[0] == "uninstall":
        desk.log.dropped(call.line(), "nothing is taken out of the environment again")
        return ToolReading()
    if words[0] in {"download", "wheel", "hash"}:
        desk.log.dropped(call.line(), "it changes nothing that the tests need")
        return ToolReading()
    if words[0] == "sync":  # `uv pip sync requirements.txt`
        words = (
            "install",
            *(part for word in words[1:] for part in (("-r", word) if not word.startswith("-") else (word,))),
        )
    return ToolReading(wanted=read_install(call, words[1:], desk)) if words[0] == "install" else None


def read_install(call: Call, words: tuple[str, ...], desk: Desk) -> Wanted:
    """The arguments of `install` as what they want."""
    apart = (_CLUSTER.sub(r"-\1 \2", word).split(" ") if _CLUSTER.match(word) else [word] for word in words)
    options = read_options([word for words_ in apart for word in words_ if word], INSTALL_OPTIONS)
    wanted = Wanted()
    for name, value in options.given:
        wanted = wanted.plus(_option(name, value, call, desk))
    plain = [word for word in (*options.positional, *options.rest) if _base(word) not in _TOOLS]
    if "pip" in call.line() and len(plain) < len(options.positional):
        desk.log.replaced(
            call.line(), "the environment is made with uv: tools that only make environments are left out"
        )
    for word in plain:
        wanted = wanted.plus(_named(word, call, desk))
    extras = options.split("--extra")
    if extras or options.has("--all-extras"):
        wanted = wanted.plus(_own_extras(call, extras, desk))
    if options.has("--no-deps"):
        wanted = wanted.with_(local=tuple(local.with_(alone=True) for local in wanted.local))
    if wanted != Wanted():
        desk.log.replayed(call.line(), "with uv, from wheels")
    return wanted


def _option(name: str, value: str, call: Call, desk: Desk) -> Wanted:
    if name in {"-r", "--requirement", "--requirements"}:
        return _file(value, call, desk)
    if name in {"-c", "--constraint", "--constraints", "--override"}:
        path = inside(call.folder, value)
        if path is None or "://" in value:
            desk.log.dropped(f"{name} {value}", "bounds are read from files of the checkout only")
            return Wanted()
        return read_constraint_file(path, desk.files.contents, desk.log).with_(files=())
    if name in {"-e", "--editable"}:
        plain = f"./{value}" if re.match(r"[\w-]+(?:\[|$)", value) else value
        return clean_lines([f"-e {plain}"], call.line(), desk.log, call.folder)
    if name == "--group":
        path, _, group = value.rpartition(":")
        folder = inside(call.folder, path.rpartition("/")[0] or ".") or call.folder if path else call.folder
        project = project_in(desk.files, folder)
        return project.found_elsewhere(project.only_extras([group]))
    if name in {"-i", "--index-url", "--extra-index-url", "-f", "--find-links", "--index", "--default-index"}:
        desk.log.dropped(f"{name} {value}", "which index is asked is the operator's choice")
    return Wanted()


def _file(value: str, call: Call, desk: Desk) -> Wanted:
    path = inside(call.folder, value)
    if path is None or "://" in value:
        desk.log.dropped(f"-r {value}", "requirement files are read from the checkout only")
        return Wanted(missing=(f"the requirement file {value}: it is not in the checkout",))
    if path.endswith("pyproject.toml"):
        return project_in(desk.files, path.rpartition("/")[0] or ".").wanted
    return read_requirement_file(path, desk.files.contents, desk.log, folder=call.folder)


def _named(word: str, call: Call, desk: Desk) -> Wanted:
    """One positional argument: a requirement, a project of the checkout, or a built distribution."""
    if "${{" in word or "$(" in word or "`" in word or "${" in word or "$" in word:
        if _WHEEL.fullmatch(word) or "dist" in word:
            return _built(word, call, desk)
        desk.log.dropped(f"{call.line()}: {word}", "what it names is known at run time only")
        return Wanted(missing=(f"the requirement {word}: what it names is known at run time only",))
    if "://" not in word and "@" not in word and (_WHEEL.fullmatch(word) or word.startswith(("dist/", "./dist/"))):
        return _built(word, call, desk)
    plain = word.rstrip("/")
    bare, bracket, extras = plain.partition("[")
    place = inside(call.folder, bare) if bare else None
    if place is not None and not bare.startswith(".") and "/" not in bare and _is_plain_folder(word, place, desk):
        plain = f"./{bare}{bracket}{extras}"  # `pip install folder/`
    return clean_lines([plain], call.line(), desk.log, call.folder)


def _is_plain_folder(word: str, place: str, desk: Desk) -> bool:
    return word.endswith("/") and desk.files.is_project(place)


def _built(word: str, call: Call, desk: Desk) -> Wanted:
    """`pip install dist/*.whl`: what was built from the checkout is the project itself."""
    desk.log.replaced(call.line(), "the project counts as installed instead of what was built from it")
    extras = re.search(r"\[([\w.,-]+)\]", word)
    return clean_lines([f".[{extras[1]}]" if extras else "-e ."], call.line(), desk.log, _built_from(word, call))


def _built_from(word: str, call: Call) -> str:
    """The project a distribution was built from: the folder that `dist` lies in."""
    before = word.partition("dist/")[0].rstrip("/") if "dist/" in word else ""
    return (inside(call.folder, before) if before and "$" not in before else None) or call.folder


def _own_extras(call: Call, extras: list[str], desk: Desk) -> Wanted:
    project = project_in(desk.files, call.folder)
    return project.only_extras(extras or project.extras)


def _base(word: str) -> str:
    return re.split(r"[\[=<>~!;@ ]", word, maxsplit=1)[0].lower()
