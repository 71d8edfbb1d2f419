"""Follow a step's script without running it, and list the programs that it calls."""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import Field

from sandbox.recipe.files import CheckoutFiles, inside
from sandbox.recipe.shell.budget import Spend, expand_all
from sandbox.recipe.shell.conditions import choose_branch, evaluate_test
from sandbox.recipe.shell.syntax import (
    Assigned,
    Case,
    Command,
    For,
    Group,
    If,
    Opaque,
    Pipeline,
    Script,
    Simple,
    read_shell,
)
from sandbox.recipe.shell.words import Expanded, NotShell, ShellExpression, Word, expand_text
from sandbox.types import Frozen

_MOST_CALLS = 400
_MOST_ROUNDS = 20
_LONGEST_LIST = 2000
OUTSIDE = "it runs outside the checkout"
UNKNOWN_LOOP = "only a shell knows the values of the loop"
UNSUPPORTED = "loops, cases and functions are not supported"
_NOTHING = re.compile(r"true|:|echo\b|exit 0")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w{0,99})=(.*)", re.DOTALL)
_SETTING = re.compile(r"([A-Za-z_]\w{0,99})=([^\n]*)")
_SOURCES = frozenset({"echo", "printf", "cat", "yes", "true"})
_RUNNER = {
    "CI": "true",
    "GITHUB_ACTIONS": "true",
    "RUNNER_OS": "Linux",
    "RUNNER_ARCH": "X64",
    "OSTYPE": "linux-gnu",
}
"""Variables of every Linux runner, enough for common conditions."""


class Call(Frozen):
    """One program call of a script."""

    words: tuple[str, ...]
    """The program and its arguments with variables substituted."""
    shown: tuple[str, ...]
    """The same words, quoted for a command line."""
    text: str
    """The whole pipeline as written."""
    folder: str = "."
    environment: dict[str, str] = Field(default_factory=dict)
    """Assignments before the call, and exported variables."""
    whole: bool = True
    """No part of the pipeline leads to a file or another program."""
    background: bool = False
    tolerated: bool = False
    """Its failure does not count: `|| true` follows."""

    @property
    def program(self) -> str:
        """Return the program's name without its folder."""
        return self.words[0].rpartition("/")[2] if self.words else ""

    def line(self) -> str:
        """Return the call as one command line."""
        return " ".join(self.shown)

    def from_(self, start: int) -> "Call":
        """Return the call without its first words."""
        return self.with_(words=self.words[start:], shown=self.shown[start:])


class Walked(Frozen):
    """The effects of a script."""

    calls: tuple[Call, ...] = ()
    environment: dict[str, str] = Field(default_factory=dict)
    """Variables set for later steps through GITHUB_ENV."""
    exported: dict[str, str] = Field(default_factory=dict)


@dataclass
class _State:
    files: CheckoutFiles
    folder: str | None
    variables: dict[str, str]
    spend: Spend
    exported: dict[str, str] = field(default_factory=dict)
    later: dict[str, str] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    folders: list[str | None] = field(default_factory=list)
    steps: int = 0


def walk_script(
    text: str, files: CheckoutFiles, folder: str, variables: Mapping[str, str], *, spend: Spend
) -> Walked:
    """Return the program calls of a script in order.

    Args:
        text: The script.
        files: The checkout's files, which decide conditions such as `if [ -f requirements.txt ]`.
        folder: The folder in which the script starts.
        variables: Its environment variables.
        spend: Pays for expanded words.

    Raises:
        ScriptExhausted: The script expands to more text than the budget allows.
    """
    known = {**_RUNNER, **variables}
    state = _State(files=files, folder=folder, variables=known, spend=spend)
    try:
        _walk(read_shell(text), state)
    except NotShell:
        _walk_lines(text, state)
    return Walked(calls=tuple(state.calls), environment=state.later, exported=state.exported)


def _walk_lines(text: str, state: _State) -> None:
    """Follow a malformed script line by line."""
    for line in re.sub(r"\\\r?\n", " ", text[: 64 * 1024]).splitlines()[:_MOST_CALLS]:
        try:
            _walk(read_shell(line), state)
        except NotShell:
            if line.strip():
                state.files.log.dropped(line, "the line cannot be parsed")


def _walk(script: Script, state: _State) -> bool | None:
    status: bool | None = True
    for joined, pipeline in script.items:
        if (joined == "&&" and status is False) or (joined == "||" and status is True):
            # `command || true` ignores the failure of the previous command.
            if joined == "||" and state.calls and _NOTHING.match(pipeline.text):
                state.calls[-1] = state.calls[-1].with_(tolerated=True)
            continue
        state.steps += 1
        if state.steps > _MOST_CALLS:
            return None
        status = _pipeline(pipeline, state)
        if pipeline.negated and status is not None:
            status = not status
    return status


def _pipeline(pipeline: Pipeline, state: _State) -> bool | None:
    first, last = pipeline.commands[0], pipeline.commands[-1]
    if first is not last and isinstance(first, Simple) and isinstance(last, Simple):
        words = _expand(first.words, state)
        if words and words[0].value in _SOURCES:
            return _follow_pipe(words, last, pipeline, state)
    return _command(first, pipeline, state)


def _follow_pipe(
    words: list[Expanded], last: Simple, pipeline: Pipeline, state: _State
) -> bool | None:
    """Follow `echo y | tool` and `cat requirements.txt | xargs pip install`."""
    target = _expand(last.words, state)
    if target and target[0].value == "xargs":
        rest = target[1:]
        while rest and (rest[0].value.startswith("-") or rest[0].value.isdigit()):
            rest = rest[1:]
        named = [word.value for word in words[1:] if not word.value.startswith("-")]
        if (
            words[0].value == "cat"
            and len(named) == 1
            and [word.value for word in rest[-1:]] == ["install"]
        ):
            _add([*rest, Expanded("-r", "-r"), Expanded(named[0], named[0])], {}, pipeline, state)
            return True
    return _command(last, pipeline, state)


def _command(command: Command, pipeline: Pipeline, state: _State) -> bool | None:
    if isinstance(command, Simple):
        return _simple(command, pipeline, state)
    if isinstance(command, Group):
        folder, folders = state.folder, list(state.folders)
        status = _walk(command.body, state)
        if command.subshell:
            state.folder, state.folders = folder, folders
        return status
    if isinstance(command, If):
        return _if(command, state)
    if isinstance(command, For):
        return _for(command, state)
    if isinstance(command, Assigned):
        _assign(command, state)
    if isinstance(command, Case) and (body := _chosen(command, state)) is not None:
        return _walk(body, state)
    if isinstance(command, Opaque | Case):
        state.files.log.dropped(pipeline.text, UNSUPPORTED)
    return True


def _if(command: If, state: _State) -> bool | None:
    for condition, body in command.branches:
        truth = True if condition is None else _walk(condition, state)
        # an undecidable condition is assumed to hold: authors write the main case first
        if truth is not False:
            return _walk(body, state)
    return True


def _for(command: For, state: _State) -> bool | None:
    values: list[str] = []
    for value in (one.value for one in _expand(command.words, state)):
        glob = set("*?") & set(value) and not set("$`{") & set(value) and state.folder is not None
        values += state.files.matching(value, state.folder or ".") if glob else [value]
    if any(set("*?$`") & set(value) for value in values):
        state.files.log.dropped(f"for {command.name}", UNKNOWN_LOOP)
        return True
    for value in values[:_MOST_ROUNDS]:
        state.variables[command.name] = value
        _walk(command.body, state)
    return True


def _chosen(command: Case, state: _State) -> Script | None:
    """Return the commands that a `case` runs; None if only a shell knows."""
    value, *patterns = (
        [item.value for item in _expand(words, state)]
        for words in ((command.word,), *(words for words, _ in command.branches))
    )
    number = choose_branch(" ".join(value), patterns)
    return None if number is None else [*(body for _, body in command.branches), Script()][number]


def _assign(command: Assigned, state: _State) -> None:
    words = _expand(command.words[:_MOST_CALLS], state)
    before = state.variables.get(f"{command.name}[@]", "") if command.added else ""
    text = " ".join([before, *(item.shown for item in words)]).strip()
    known = not isinstance(before, ShellExpression) and all(
        item.shown == shlex.quote(item.value) for item in words
    )
    if len(text) > _LONGEST_LIST:
        text, known = f"${{{command.name}[@]}}", False
    for name in (f"{command.name}[@]", f"{command.name}[*]"):
        state.variables[name] = text if known else ShellExpression(text)


def _expand(words: Sequence[Word], state: _State) -> list[Expanded]:
    return expand_all(words[:2000], state.variables, state.spend)


def _simple(command: Simple, pipeline: Pipeline, state: _State) -> bool | None:
    words = _expand(command.words, state)
    own: dict[str, str] = {}
    while (
        words
        and len(own) < len(command.words)
        and (found := _ASSIGNMENT.fullmatch(words[0].value))
        and "=" in command.words[len(own)].raw
    ):
        plain = expand_text(command.words[len(own)], state.variables)
        own[found[1]] = found[2] if plain is not None else ShellExpression(found[2])
        words = words[1:]
    if not words:
        state.variables.update(own)
        state.exported.update(
            {name: value for name, value in own.items() if name in state.exported}
        )
        return True
    if words[0].value == "cat" and any(
        "GITHUB_" in target.raw for _, target in command.redirections
    ):
        return True  # `cat <<EOF >> $GITHUB_ENV` is handled with the steps
    known = _BUILT_IN.get(words[0].value)
    if known is not None:
        return known([word.value for word in words], command, state)
    _add(words, own, pipeline, state, whole=_is_whole(command, pipeline))
    return None if words[0].value in {"which", "hash"} else True


def _is_whole(command: Simple, pipeline: Pipeline) -> bool:
    """Return True if dropping redirections and later parts of the pipeline loses nothing."""
    harmless = all(
        word.raw in {"1", "2", "/dev/null"} or ">&" in operator
        for operator, word in command.redirections
    )
    return len(pipeline.commands) == 1 and harmless


def _add(
    words: list[Expanded],
    own: Mapping[str, str],
    pipeline: Pipeline,
    state: _State,
    *,
    whole: bool = True,
) -> None:
    if state.folder is None:
        state.files.log.dropped(pipeline.text, OUTSIDE)
        return
    environment = {**state.exported, **own}
    for name in [name for name, value in environment.items() if isinstance(value, ShellExpression)]:
        state.files.log.dropped(f"{name}={environment.pop(name)}", "only a shell knows its value")
    state.calls.append(
        Call(
            words=tuple(word.value for word in words),
            shown=tuple(word.shown for word in words),
            text=pipeline.text,
            folder=state.folder,
            environment=environment,
            whole=whole,
            background=pipeline.background,
        )
    )


def _cd(words: list[str], _command: Simple, state: _State) -> bool | None:
    target = next((word for word in words[1:] if not word.startswith("-") or word == "-"), "")
    if words[0] == "popd" or target == "-":
        state.folder = state.folders.pop() if state.folders else state.folder
        return True
    state.folders.append(state.folder)
    if state.folder is not None:
        state.folder = inside(state.folder, target)
    elif target.startswith(("$GITHUB_WORKSPACE", "${GITHUB_WORKSPACE")):
        state.folder = inside(".", target)
    del state.folders[:-_MOST_ROUNDS]
    return True


def _export(words: list[str], _command: Simple, state: _State) -> bool | None:
    for word in words[1:]:
        if (found := _ASSIGNMENT.fullmatch(word)) is not None:
            value = ShellExpression(found[2]) if re.search(r"[$`]", found[2]) else found[2]
            state.variables[found[1]] = state.exported[found[1]] = value
        elif word in state.variables:
            state.exported[word] = state.variables[word]
    return True


def _echo(words: list[str], command: Simple, state: _State) -> bool | None:
    """Drop output, unless it sets a variable for later steps or writes a file."""
    for operator, target in command.redirections:
        if target.raw.strip("\"'") in {"$GITHUB_ENV", "${GITHUB_ENV}"}:
            for name, value in _SETTING.findall("\n".join(words[1:])):
                if not re.search(r"[$`]", value):
                    state.later[name] = state.variables[name] = state.exported[name] = value
        elif (
            ">" in operator
            and ">&" not in operator
            and "GITHUB_" not in target.raw
            and target.raw != "/dev/null"
        ):
            text = " ".join([*(word.raw for word in command.words), operator, target.raw])
            own = [Expanded(words[0], text)]
            _add(own, {}, Pipeline((command,), text), state, whole=False)
    return True


def _test(words: list[str], _command: Simple, state: _State) -> bool | None:
    return evaluate_test(words, state.files, state.folder)


def _unknown(words: list[str], command: Simple, state: _State) -> bool | None:
    """Follow `command tool` as a call; `command -v tool` only tests for a tool."""
    first = next((n for n, word in enumerate(words) if word != "command"), 0)
    if first and not words[first].startswith("-"):
        inner = Simple(command.words[first:], command.redirections)
        return _simple(inner, Pipeline((inner,), " ".join(words[first:])), state)
    return None


_BUILT_IN = {
    "cd": _cd,
    "pushd": _cd,
    "popd": _cd,
    "export": _export,
    "declare": _export,
    "echo": _echo,
    "printf": _echo,
    "[": _test,
    "[[": _test,
    "test": _test,
    "command": _unknown,
    "type": _unknown,
    "which": _unknown,
    "false": lambda *_: False,
    **dict.fromkeys(
        ["set", "shopt", "true", ":", "exit", "return", "unset", "source", ".", "ulimit", "umask",
        "trap", "wait", "alias", "local", "readonly", "sleep", "ls", "pwd", "date", "whoami", "id",
        "uname", "df", "free", "nproc"],
        lambda *_: True,
    ),
}  # fmt: skip
