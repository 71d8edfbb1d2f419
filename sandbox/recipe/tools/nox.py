"""Read `nox -s tests`: the requested sessions from the noxfile's syntax tree."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

from sandbox.recipe.files import beside, inside
from sandbox.recipe.job import ToolReading
from sandbox.recipe.setup_script import read_constants
from sandbox.recipe.shell.walk import Call
from sandbox.recipe.tools.base import ToolContext
from sandbox.recipe.tools.nox_session import SessionRun
from sandbox.recipe.tools.nox_values import (
    MOST_STEPS,
    NotKnown,
    NoxScope,
    dotted_name,
    plain_texts,
)

_MOST_SESSIONS = 8
_MOST_CHOSEN = 50
_SEVERAL = frozenset(
    {
        "-s",
        "-e",
        "--session",
        "--sessions",
        "-t",
        "--tags",
        "-p",
        "--pythons",
        "--python",
        "-k",
        "--keywords",
    }
)
_ONE = frozenset({"-f", "--noxfile", "--envdir", "-db", "--default-venv-backend", "-fb",
    "--force-venv-backend", "-P",
    "--extra-python", "--extra-pythons", "--force-python", "--force-pythons", "--report",
    "--verbose-x"})  # fmt: skip


@dataclass(frozen=True)
class _Session:
    """A session of the noxfile."""

    name: str
    function: ast.FunctionDef
    pythons: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    default: bool = True
    cells: tuple[dict[str, Any], ...] = ()
    """Values of its parameters, one dictionary each."""


@dataclass(frozen=True)
class _Asked:
    """The requests on the command line."""

    sessions: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    pythons: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    posargs: tuple[str, ...] = ()
    file: str = "noxfile.py"
    lists: bool = False


def read(call: Call, context: ToolContext) -> ToolReading | None:
    """Read one call of nox."""
    asked = _parse_arguments(call, context)
    if asked.lists:
        return ToolReading()
    path = inside(call.folder, asked.file) or beside(call.folder, "noxfile.py")
    tree = context.files.python(path)
    if tree is None:
        context.log.dropped(call.line(), f"there is no readable {asked.file}")
        return None
    # The noxfile is code of the repository: it is read, and never run.
    constants = read_constants(tree)
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    files = context.files
    # All calls share one budget of steps.
    steps = files.remember(("nox steps",), lambda: [MOST_STEPS])
    scope = NoxScope(constants, budget=steps)
    sessions = files.remember(("nox", path), lambda: list(_sessions(functions, scope)))
    defaults = files.remember(("nox defaults", path), lambda: _default_names(tree, scope))
    chosen = _choose_sessions(asked, sessions, defaults, context)[:_MOST_CHOSEN]
    if not chosen:
        context.log.dropped(call.line(), f"{path} has no such readable session")
        return None
    names = ", ".join(session.name for session, _, _ in chosen)
    context.log.replaced(
        call.line(), f"what the sessions {names} in {path} install and run is done without nox"
    )
    reading = ToolReading()
    for session, python, cell in chosen[:_MOST_SESSIONS]:
        scope = NoxScope(constants, dict(cell), budget=steps)
        run = SessionRun(
            session.name,
            session.function,
            python,
            context,
            functions,
            scope,
            path.rpartition("/")[0] or ".",
        )
        reading = reading.plus(run.read(call, asked.posargs))
    return reading


def _parse_arguments(call: Call, context: ToolContext) -> _Asked:
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
            # These options take all words up to the next option.
            current = name if name in _SEVERAL else ""
            short = (
                word[:2] if word[:2] in _SEVERAL and not word.startswith("--") and word[2:] else ""
            )
            # A value may follow a short option directly: `-stests`.
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
        {**context.variables, **call.environment}.get("NOXSESSION", "").split(",")[:20]
    )
    return _Asked(
        sessions=tuple(name for name in given if name),
        tags=of("-t", "--tags"),
        pythons=of("-p", "--pythons", "--python"),
        keywords=of("-k", "--keywords"),
        posargs=tuple(posargs),
        file=next(iter(of("-f", "--noxfile")), "noxfile.py"),
        lists=bool(
            {"-l", "--list", "--list-sessions", "--version", "--help", "-h", "--install-only"}
            & set(everything)
        ),
    )


def _sessions(functions: dict[str, ast.FunctionDef], scope: NoxScope) -> Iterator[_Session]:
    for function in list(functions.values())[:200]:
        options: dict[str, Any] | None = None
        lists: list[list[dict[str, Any]]] = []
        # Only the last part of a decorator's name counts: nox may be imported by another name.
        for decorator in function.decorator_list[:20]:
            name = dotted_name(decorator.func if isinstance(decorator, ast.Call) else decorator)
            if name.rpartition(".")[2] == "session":
                options = _options(decorator, scope)
            elif name.rpartition(".")[2] == "parametrize" and isinstance(decorator, ast.Call):
                lists.append(_cells(decorator, scope))
        if options is None:
            continue
        pythons = options.get("python", options.get("py"))
        listed = (
            [pythons] if isinstance(pythons, str) else pythons if isinstance(pythons, list) else []
        )
        cells = [
            dict(pair for part in parts for pair in part.items())
            for parts in list(_products(lists))[:200]
        ]
        yield _Session(
            name=next(iter(plain_texts([options.get("name") or function.name])), function.name),
            function=function,
            pythons=tuple(item for item in listed[:_MOST_CHOSEN] if isinstance(item, str)),
            tags=tuple(plain_texts(options.get("tags"))),
            default=options.get("default") is not False,
            cells=tuple(cells),
        )


def _products(lists: list[list[dict[str, Any]]]) -> Iterator[tuple[dict[str, Any], ...]]:
    for count, parts in enumerate(product(*(cells for cells in lists[:4] if cells))):
        if count >= 200:  # noqa: PLR2004 (more than anybody writes)
            return
        if parts:
            yield parts


def _options(decorator: ast.expr, scope: NoxScope) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if isinstance(decorator, ast.Call):
        for keyword in decorator.keywords:
            try:
                found[keyword.arg or ""] = scope.value(keyword.value)
            except NotKnown:
                continue
    return found


def _cells(decorator: ast.Call, scope: NoxScope) -> list[dict[str, Any]]:
    """Read `@nox.parametrize("a,b", [(1, 2), (3, 4)])`."""
    try:
        given = [scope.value(argument) for argument in decorator.args[:2]]
    except NotKnown:
        return []
    if len(given) != 2 or not isinstance(given[1], list):  # noqa: PLR2004 (names and values)
        return []
    names = (
        [name.strip() for name in given[0].split(",")]
        if isinstance(given[0], str)
        else plain_texts(given[0])
    )
    # With one name the values are not tuples.
    if len(names) == 1:
        return [{names[0]: value} for value in given[1][:100]]
    return [
        dict(zip(names, value, strict=False))
        for value in given[1][:100]
        if isinstance(value, list | tuple)
    ]


_Chosen = tuple[_Session, str | None, dict[str, Any]]


def _choose_sessions(
    asked: _Asked, sessions: list[_Session], defaults: list[str], context: ToolContext
) -> list[_Chosen]:
    """Return the sessions to run, each with one Python and one set of parameters."""
    # The noxfile's own list of defaults replaces the marks at the sessions.
    is_selected = asked.tags or asked.keywords
    named = asked.sessions or (() if is_selected else defaults)
    if named:
        return [
            found
            for name in named[:_MOST_CHOSEN]
            for found in _by_name(name, sessions, asked, context)
        ]
    if asked.tags:
        picked = [session for session in sessions if set(session.tags) & set(asked.tags)]
    elif asked.keywords:
        picked = [
            s
            for s in sessions
            if any(re.search(rf"\b{re.escape(word)}", s.name) for word in asked.keywords[:20])
        ]
    else:
        picked = [session for session in sessions if session.default]
    return [
        (session, _python(session, asked, context), next(iter(session.cells), {}))
        for session in picked
    ]


def _by_name(
    name: str, sessions: list[_Session], asked: _Asked, context: ToolContext
) -> Iterator[_Chosen]:
    """Match `tests`, `tests-3.11`, `tests(django='4.0')`, `tests-3.11(django='4.0')`."""
    plain, bracket, parameters = name.partition("(")
    for session in sessions:
        python = next((p for p in session.pythons if plain == f"{session.name}-{p}"), None)
        if plain != session.name and python is None:
            continue
        wanted = dict(re.findall(r"(?<!\w)(\w+)=['\"]?([^'\",)]+)", parameters)) if bracket else {}
        cells = [
            c
            for c in session.cells
            if all(plain_texts([c.get(key)]) == [value] for key, value in wanted.items())
        ]
        if len(cells) > 1:
            context.log.dropped(
                f"{name}: {len(cells) - 1} more sets of parameters", "the first one is rebuilt"
            )
        yield session, python or _python(session, asked, context), next(iter(cells), {})
        return


def _python(session: _Session, asked: _Asked, context: ToolContext) -> str | None:
    for python in (*asked.pythons, context.python):
        # A requested Python comes before the job's, and both only if the session has them.
        if python in session.pythons:
            return python
    return next(iter(asked.pythons), None) or context.python or next(iter(session.pythons), None)


def _default_names(tree: ast.Module, scope: NoxScope) -> list[str]:
    """Return `nox.options.sessions = [...]`."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and dotted_name(node.targets[0]).endswith(
            "options.sessions"
        ):
            try:
                found = scope.value(node.value)
            except NotKnown:
                return []
            return (
                [name for name in found if isinstance(name, str)] if isinstance(found, list) else []
            )
    return []
