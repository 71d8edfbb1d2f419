"""Follow a step's script without running it, and list the programs that it calls."""

import re
import shlex
from collections.abc import Mapping, Sequence

from pydantic import Field

from sandbox.recipe.files import CheckoutFiles
from sandbox.recipe.shell.budget import ScriptExhausted, Spend, expand_all
from sandbox.recipe.shell.builtins import ASSIGNMENT, BUILT_IN
from sandbox.recipe.shell.calls import OUTSIDE, UNKNOWN_VALUE, Call, State
from sandbox.recipe.shell.conditions import choose_branch
from sandbox.recipe.shell.decisions import (
    add_decision,
    asks_for_program,
    decides,
    exits,
    function_name,
    is_decision,
    may_fail,
    notes_failure,
    split_lists,
    tolerate,
)
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
from sandbox.recipe.shell.variables import ShellVariables
from sandbox.recipe.shell.words import (
    MOST_CHARACTERS,
    Expanded,
    NotShell,
    ShellExpression,
    Word,
    expand_text,
)
from sandbox.types import Frozen

__all__ = [
    "AS_WRITTEN",
    "OUTSIDE",
    "UNKNOWN_LOOP",
    "UNKNOWN_VALUE",
    "UNSUPPORTED",
    "Call",
    "Walked",
    "walk_script",
]

_MOST_CALLS = 400
_MOST_ROUNDS = 100
_MOST_WORDS = 2000
_LONGEST_LIST = 2000
UNKNOWN_LOOP = "only a shell knows the values of the loop"
UNSUPPORTED = "loops, cases and functions are not supported"
AS_WRITTEN = "only a shell can follow it, and it runs as written"
_NOTHING = re.compile(r"true|:|echo\b|exit 0")
_SOURCES = frozenset({"echo", "printf", "cat", "yes", "true"})


class Walked(Frozen):
    """The effects of a script."""

    calls: tuple[Call, ...] = ()
    environment: dict[str, str] = Field(default_factory=dict)
    """Variables set for later steps through GITHUB_ENV."""


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
        ScriptExhausted: The script is too long; a part of its calls could hide the check.
    """
    state = State(files=files, folder=folder, variables=ShellVariables(variables), spend=spend)
    state.enter(folder)
    try:
        _walk(read_shell(text), state)
    except NotShell:
        _walk_lines(text, state)
    return Walked(calls=tuple(state.calls), environment=state.later)


def _walk_lines(text: str, state: State) -> None:
    """Follow a malformed script line by line."""
    if len(text) > MOST_CHARACTERS:
        raise ScriptExhausted
    for line in re.sub(r"\\\r?\n", " ", text).splitlines():
        try:
            _walk(read_shell(line), state)
        except NotShell:
            if line.strip():
                state.files.log.dropped(line, "the line cannot be parsed")


def _walk(script: Script, state: State, *, is_condition: bool = False) -> bool | None:
    status: bool | None = True
    lists = list(split_lists(script))
    for place, parts in enumerate(lists, start=1):
        is_last = place == len(lists)
        if not is_condition and is_decision(parts, state.variables, is_last=is_last):
            add_decision(" ".join(f"{joined} {one.text}".strip() for joined, one in parts), state)
            continue
        for joined, pipeline in parts:
            if (joined == "&&" and status is False) or (joined == "||" and status is True):
                _skip(joined, pipeline, state)
                continue
            state.steps += 1
            if state.steps > _MOST_CALLS:
                raise ScriptExhausted
            status = _pipeline(pipeline, state)
            if pipeline.negated and status is not None:
                status = not status
    return status


def _skip(joined: str, pipeline: Pipeline, state: State) -> None:
    """Note that what follows `||` replaces a command, whose failure alone fails nothing."""
    if joined != "||" or not state.calls:
        return
    if _NOTHING.match(pipeline.text):
        # `command || true` ignores the failure of the previous command.
        state.calls[-1] = state.calls[-1].with_(tolerated=True)
    elif not notes_failure(pipeline):
        tolerate(state, len(state.calls) - 1)


def _pipeline(pipeline: Pipeline, state: State) -> bool | None:
    first, last = pipeline.commands[0], pipeline.commands[-1]
    if first is not last and isinstance(first, Simple):
        words = _expand(first.words, state.variables.known, state)
        source = words[0].value if words else ""
        if source in _SOURCES and isinstance(last, Simple):
            return _follow_pipe(words, last, pipeline, state)
        if source in BUILT_IN and _repeats(last):
            state.add(words, {}, pipeline, whole=False)
            return True
    return _command(first, pipeline, state)


def _repeats(last: Command) -> bool:
    """Return True if the end of a pipeline runs other programs: `ls | while read` or `xargs`."""
    return not isinstance(last, Simple) or (bool(last.words) and last.words[0].plain == "xargs")


def _follow_pipe(
    words: list[Expanded], last: Simple, pipeline: Pipeline, state: State
) -> bool | None:
    """Follow `echo y | tool` and `cat requirements.txt | xargs pip install`."""
    target = _expand(last.words, state.variables.known, state)
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
            added = [*rest, Expanded("-r", "-r"), Expanded(named[0], named[0])]
            state.add(added, {}, pipeline)
            return True
    return _command(last, pipeline, state)


def _command(command: Command, pipeline: Pipeline, state: State) -> bool | None:
    if isinstance(command, Simple):
        return _simple(command, pipeline, state)
    if isinstance(command, Group):
        folder, folders = state.folder, list(state.folders)
        status = _walk(command.body, state)
        if command.subshell:
            state.enter(folder)
            state.folders = folders
        return status
    if isinstance(command, If):
        return _if(command, pipeline, state)
    if isinstance(command, For):
        return _for(command, pipeline, state)
    if isinstance(command, Assigned):
        _assign(command, state)
    if isinstance(command, Case) and (body := _chosen(command, state)) is not None:
        return _walk(body, state)
    if isinstance(command, Opaque | Case):
        _leave(command, pipeline, UNSUPPORTED, state)
        state.variables.forget(pipeline.text)
    return True


def _leave(command: Command, pipeline: Pipeline, reason: str, state: State) -> None:
    """Leave a part of the script to a shell: a function until it is called, a loop at once."""
    name = function_name(pipeline.text) if isinstance(command, Opaque) else None
    is_run = name is None and may_fail(pipeline.text)
    shown = f"for {command.name}" if isinstance(command, For) else pipeline.text
    if is_run:
        state.files.log.replayed(shown, AS_WRITTEN)
        add_decision(pipeline.text, state)
        return
    state.files.log.dropped(shown, reason)
    if name is not None:
        state.functions[name] = pipeline.text


def _if(command: If, pipeline: Pipeline, state: State) -> bool | None:
    if decides(command, state.variables):
        add_decision(pipeline.text, state)
        return True
    for condition, body in command.branches:
        noted = len(state.calls)
        truth = True if condition is None else _walk(condition, state, is_condition=True)
        if not exits(body):
            tolerate(state, noted)
        # an undecidable condition is assumed to hold: authors write the main case first
        if truth is not False:
            status = _walk(body, state)
            if condition is not None and asks_for_program(condition):
                tolerate(state, noted)
            return status
    return True


def _for(command: For, pipeline: Pipeline, state: State) -> bool | None:
    values: list[str] = []
    for value in (one.value for one in _expand(command.words, state.variables.known, state)):
        glob = set("*?") & set(value) and not set("$`{") & set(value) and state.folder is not None
        values += state.files.matching(value, state.folder or ".") if glob else [value]
    if any(set("*?$`") & set(value) for value in values):
        _leave(command, pipeline, UNKNOWN_LOOP, state)
        for text in (command.name, *(one.text for _, one in command.body.items)):
            state.variables.forget(text)
        return True
    if len(values) > _MOST_ROUNDS:
        raise ScriptExhausted
    for value in values:
        state.variables.assign(command.name, value)
        _walk(command.body, state)
    return True


def _chosen(command: Case, state: State) -> Script | None:
    """Return the commands that a `case` runs; None if only a shell knows."""
    value, *patterns = (
        [item.value for item in _expand(words, state.variables, state)]
        for words in ((command.word,), *(words for words, _ in command.branches))
    )
    number = choose_branch(" ".join(value), patterns)
    return None if number is None else [*(body for _, body in command.branches), Script()][number]


def _assign(command: Assigned, state: State) -> None:
    words = _expand(command.words, state.variables, state)
    before = state.variables.get(f"{command.name}[@]", "") if command.added else ""
    text = " ".join([before, *(item.shown for item in words)]).strip()
    known = not isinstance(before, ShellExpression) and all(
        item.shown == shlex.quote(item.value) for item in words
    )
    if len(text) > _LONGEST_LIST:
        text, known = f"${{{command.name}[@]}}", False
    for name in (f"{command.name}[@]", f"{command.name}[*]"):
        state.variables.assign(name, text if known else ShellExpression(text))


def _expand(words: Sequence[Word], variables: Mapping[str, str], state: State) -> list[Expanded]:
    if len(words) > _MOST_WORDS:
        raise ScriptExhausted
    return expand_all(words, variables, state.spend)


def _simple(command: Simple, pipeline: Pipeline, state: State) -> bool | None:
    # What no variable sets is left to the shell, except in assignments and conditions.
    words = _expand(command.words, state.variables.known, state)
    own: dict[str, str] = {}
    left = command.words
    while words and left and (found := ASSIGNMENT.fullmatch(words[0].value)) and "=" in left[0].raw:
        text = expand_text(left[0], state.variables)
        own[found[1]] = ShellExpression(found[2]) if text is None else text.partition("=")[2]
        words, left = words[1:], left[1:]
    if words and words[0].value.startswith("$"):  # such as `$SUDO make`
        words = _expand(left, state.variables, state)
    if not words:
        for name, value in own.items():
            state.variables.assign(name, value)
        return True
    if words[0].value == "cat" and any(
        "GITHUB_" in target.raw for _, target in command.redirections
    ):
        return True  # `cat <<EOF >> $GITHUB_ENV` is handled with the steps
    # `command tool` calls the tool, `command -v tool` only tests for one.
    first = next((n for n, word in enumerate(words) if word.value != "command"), 0)
    if first and not words[first].value.startswith("-"):
        inner = Simple(left[first:], command.redirections)
        return _simple(inner, pipeline, state)
    if (function := state.functions.get(words[0].value)) is not None:
        if may_fail(function):
            add_decision(f"{function}\n{pipeline.text}", state)
        return True
    known = BUILT_IN.get(words[0].value)
    if known is not None:
        words = _expand(left, state.variables, state)
        return known([word.value for word in words], command, state)
    state.add(words, own, pipeline, whole=_is_whole(command, pipeline))
    return None if words[0].value in {"which", "hash"} else True


def _is_whole(command: Simple, pipeline: Pipeline) -> bool:
    """Return True if dropping redirections and later parts of the pipeline loses nothing."""
    harmless = all(
        word.raw in {"1", "2", "/dev/null"} or ">&" in operator
        for operator, word in command.redirections
    )
    return len(pipeline.commands) == 1 and harmless
