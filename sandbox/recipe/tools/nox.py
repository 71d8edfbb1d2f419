"""`nox -s tests`: the sessions that are meant, read from the noxfile's syntax tree; nothing of it is run."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

from sandbox.recipe.files import beside, inside
from sandbox.recipe.job import ToolReading
from sandbox.recipe.setup_script import constants_of
from sandbox.recipe.shell.walk import Call
from sandbox.recipe.tools.base import Desk
from sandbox.recipe.tools.nox_session import SessionRun
from sandbox.recipe.tools.nox_values import NotKnown, Scope

_MOST_SESSIONS = 8
_SEVERAL = frozenset(
    {"-s", "-e", "--session", "--sessions", "-t", "--tags", "-p", "--pythons", "--python", "-k", "--keywords"}
)
_ONE = frozenset({"-f", "--noxfile", "--envdir", "-db", "--default-venv-backend", "-fb", "--force-venv-backend", "-P",
    "--extra-python", "--extra-pythons", "--force-python", "--force-pythons", "--report", "--verbose-x"})  # fmt: skip


@dataclass(frozen=True)
class _Session:
    """A session as the noxfile defines it."""

    name: str
    function: ast.FunctionDef
    pythons: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    default: bool = True
    cells: tuple[dict[str, Any], ...] = ()
    """Values of its parameters, one dictionary each."""


@dataclass(frozen=True)
class _Asked:
    """What the command line asks for."""

    sessions: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    pythons: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    posargs: tuple[str, ...] = ()
    file: str = "noxfile.py"
    lists: bool = False


def read(call: Call, desk: Desk) -> ToolReading | None:
    """One call of nox."""
    asked = _asked(call, desk)
    if asked.lists:
        return ToolReading()
    path = inside(call.folder, asked.file) or beside(call.folder, "noxfile.py")
    tree = desk.files.python(path)
    if tree is None:
        desk.log.dropped(call.line(), f"there is no {asked.file} that can be read")
        return None
    constants = constants_of(tree)
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    sessions = list(_sessions(functions, constants))
    chosen = _chosen(asked, sessions, tree, desk)
    if not chosen:
        desk.log.dropped(call.line(), f"{path} has no such session that can be read")
        return None
    names = ", ".join(session.name for session, _, _ in chosen)
    desk.log.replaced(call.line(), f"what the sessions {names} in {path} install and run is done without nox")
    reading = ToolReading()
    for session, python, cell in chosen[:_MOST_SESSIONS]:
        scope = Scope(constants, dict(cell))
        run = SessionRun(session.name, session.function, python, desk, functions, scope, path.rpartition("/")[0] or ".")
        reading = reading.plus(run.read(call, asked.posargs))
    return reading


def _asked(call: Call, desk: Desk) -> _Asked:
    words, found = list(call.words[1:]), dict[str, list[str]]()
    posargs: list[str] = []
    current = ""
    while words:
        word = words.pop(0)
        if word == "--":
            posargs = words
            break
        name, equals, value = word.partition("=")
        if word.startswith("-"):
            current = name if name in _SEVERAL else ""
            short = word[:2] if word[:2] in _SEVERAL and not word.startswith("--") and len(word) > 2 else ""  # noqa: PLR2004
            if short and name not in _SEVERAL | _ONE:
                found.setdefault(short, []).append(word[2:])
            else:
                found.setdefault(name, []).extend([value] if equals else [])
            if name in _ONE and not equals and words:
                found[name].append(words.pop(0))
            continue
        found.setdefault(current, []).append(word)
    everything = {name: tuple(values) for name, values in found.items()}

    def of(*names: str) -> tuple[str, ...]:
        return tuple(value for name in names for value in everything.get(name, ()))

    given = of("-s", "-e", "--session", "--sessions") or tuple(
        {**desk.variables, **call.environment}.get("NOXSESSION", "").split(",")[:20]
    )
    return _Asked(
        sessions=tuple(name for name in given if name),
        tags=of("-t", "--tags"),
        pythons=of("-p", "--pythons", "--python"),
        keywords=of("-k", "--keywords"),
        posargs=tuple(posargs),
        file=next(iter(of("-f", "--noxfile")), "noxfile.py"),
        lists=bool(
            {"-l", "--list", "--list-sessions", "--version", "--help", "-h", "--install-only"} & set(everything)
        ),
    )


def _sessions(functions: dict[str, ast.FunctionDef], constants: dict[str, ast.expr]) -> Iterator[_Session]:
    for function in list(functions.values())[:200]:
        options: dict[str, Any] | None = None
        lists: list[list[dict[str, Any]]] = []
        for decorator in function.decorator_list[:20]:
            name = ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator)[:100]
            if name.rpartition(".")[2] == "session":
                options = _options(decorator, constants)
            elif name.rpartition(".")[2] == "parametrize" and isinstance(decorator, ast.Call):
                lists.append(_cells(decorator, constants))
        if options is None:
            continue
        pythons = options.get("python", options.get("py"))
        listed = [pythons] if isinstance(pythons, str) else pythons if isinstance(pythons, list) else []
        cells = [dict(pair for part in parts for pair in part.items()) for parts in list(_products(lists))[:200]]
        yield _Session(
            name=str(options.get("name") or function.name),
            function=function,
            pythons=tuple(item for item in listed if isinstance(item, str)),
            tags=tuple(item for item in options.get("tags") or () if isinstance(item, str)),
            default=options.get("default") is not False,
            cells=tuple(cells),
        )


def _products(lists: list[list[dict[str, Any]]]) -> Iterator[tuple[dict[str, Any], ...]]:
    for count, parts in enumerate(product(*(cells for cells in lists[:4] if cells))):
        if count >= 200:  # noqa: PLR2004 (more than anybody writes)
            return
        if parts:
            yield parts


def _options(decorator: ast.expr, constants: dict[str, ast.expr]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if isinstance(decorator, ast.Call):
        for keyword in decorator.keywords:
            try:
                found[keyword.arg or ""] = Scope(constants).value(keyword.value)
            except NotKnown:
                continue
    return found


def _cells(decorator: ast.Call, constants: dict[str, ast.expr]) -> list[dict[str, Any]]:
    """`@nox.parametrize("a,b", [(1, 2), (3, 4)])`."""
    try:
        given = [Scope(constants).value(argument) for argument in decorator.args[:2]]
    except NotKnown:
        return []
    if len(given) != 2 or not isinstance(given[1], list):  # noqa: PLR2004 (names and values)
        return []
    names = [name.strip() for name in given[0].split(",")] if isinstance(given[0], str) else [str(n) for n in given[0]]
    if len(names) == 1:
        return [{names[0]: value} for value in given[1][:100]]
    return [dict(zip(names, value, strict=False)) for value in given[1][:100] if isinstance(value, list | tuple)]


_Chosen = tuple[_Session, str | None, dict[str, Any]]


def _chosen(asked: _Asked, sessions: list[_Session], tree: ast.Module, desk: Desk) -> list[_Chosen]:
    """The sessions that run, each for one Python and one set of parameters."""
    if asked.sessions:
        return [found for name in asked.sessions for found in _by_name(name, sessions, asked, desk)]
    if asked.tags:
        picked = [session for session in sessions if set(session.tags) & set(asked.tags)]
    elif asked.keywords:
        picked = [s for s in sessions if any(re.search(rf"\b{re.escape(word)}", s.name) for word in asked.keywords)]
    else:
        named = _default_names(tree)
        if named:
            return [found for name in named for found in _by_name(name, sessions, asked, desk)]
        picked = [session for session in sessions if session.default]
    return [(session, _python(session, asked, desk), next(iter(session.cells), {})) for session in picked]


def _by_name(name: str, sessions: list[_Session], asked: _Asked, desk: Desk) -> Iterator[_Chosen]:
    """`tests`, `tests-3.11`, `tests(django='4.0')`, `tests-3.11(django='4.0')`."""
    plain, bracket, parameters = name.partition("(")
    for session in sessions:
        python = next((p for p in session.pythons if plain == f"{session.name}-{p}"), None)
        if plain != session.name and python is None:
            continue
        wanted = dict(re.findall(r"(\w+)=['\"]?([^'\",)]+)", parameters)) if bracket else {}
        cells = [c for c in session.cells if all(str(c.get(key)) == value for key, value in wanted.items())]
        if len(cells) > 1:
            desk.log.dropped(f"{name}: {len(cells) - 1} more sets of parameters", "the first one is rebuilt")
        yield session, python or _python(session, asked, desk), next(iter(cells), {})
        return


def _python(session: _Session, asked: _Asked, desk: Desk) -> str | None:
    for python in (*asked.pythons, desk.python):
        if python in session.pythons:
            return python
    return next(iter(asked.pythons), None) or desk.python or next(iter(session.pythons), None)


def _default_names(tree: ast.Module) -> list[str]:
    """`nox.options.sessions = [...]`."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0])[:100].endswith("options.sessions"):
            try:
                found = Scope(constants_of(tree)).value(node.value)
            except NotKnown:
                return []
            return [name for name in found if isinstance(name, str)] if isinstance(found, list) else []
    return []
