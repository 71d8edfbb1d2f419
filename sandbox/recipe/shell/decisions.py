"""Find the parts of a script that fail by the shell's own logic, which must run as written."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from sandbox.recipe.command import classify_command
from sandbox.recipe.shell.builtins import BUILT_IN
from sandbox.recipe.shell.calls import OUTSIDE, Call, State
from sandbox.recipe.shell.syntax import Command, Group, If, Pipeline, Script, Simple
from sandbox.recipe.shell.words import ShellExpression, Word
from sandbox.types import StepKind

_TESTS = frozenset({"[", "[[", "test"})
_SEEKERS = frozenset({"command", "which", "type", "hash"})
_COMPUTED = re.compile(r"\$\(|`")
_FAILING_EXIT = re.compile(r"(?:^|[\s;&|{(])(?:exit|return)\s+(?!0\b)\S", re.MULTILINE)
_CHECKS = re.compile(
    r"(?<![\w./-])(?:pytest|py\.test|unittest|ruff|flake8|pylint|mypy|pyright|black|isort|gofmt"
    r"|eslint|prettier|tsc|jest|vitest|mocha|go (?:test|vet|build)|cargo (?:test|check|clippy))"
    r"(?![\w-])"
)
_LISTS = re.compile(
    r"if\s+(?:\[\[?|test)\s+-n\s+\"?\$\((?P<command>[^()$`\"]{1,400})\)\"?(?:\s+\]\]?)?\s*;?\s*then\b"
)
_FUNCTION = re.compile(r"(?:function\s+)?([\w:.-]{1,100})\s*(?:\(\s*\))?\s*\{")


def may_fail(text: str) -> bool:
    """Return True if a loop or function checks something by itself: it exits, or runs a check."""
    return _FAILING_EXIT.search(text) is not None or _CHECKS.search(text) is not None


def function_name(text: str) -> str | None:
    """Return the name of the function that a text defines; None for anything else."""
    found = _FUNCTION.match(text)
    return found[1] if found is not None else None


def add_decision(text: str, state: State) -> None:
    """Add a part of the script that fails by itself, with the assignments that it needs."""
    if state.folder is None:
        state.files.log.dropped(text, OUTSIDE)
        return
    known = state.variables.known
    assigned = _computed_in(text, known)
    whole = _listing_text(text) or "\n".join((*assigned, text))
    values = state.variables.named_in(whole)
    set_here = {line.partition("=")[0] for line in assigned}
    unknown = {name for name, value in values.items() if isinstance(value, ShellExpression)}
    environment = {name: values[name] for name in values.keys() - unknown}
    state.calls.append(
        Call(
            words=(whole,),
            shown=(whole,),
            text=whole,
            folder=state.folder,
            environment=environment,
            unknown=tuple(sorted(unknown - set_here)),
            whole=False,
            decides=True,
        )
    )


def tolerate(state: State, start: int) -> None:
    """Note that the failure of the calls from one on does not count, unless they are checks."""
    for number, call in enumerate(state.calls[start:], start=start):
        if classify_command(call.line()) is StepKind.OTHER:
            state.calls[number] = call.with_(tolerated=True)


def _listing_text(text: str) -> str:
    """Return a decision as `test -z "$(COMMAND)"` if it fails for what a command lists."""
    found = _LISTS.match(text)
    return f'test -z "$({found["command"].strip()})"' if found is not None else ""


def exits(script: Script) -> bool:
    """Return True if a script ends the step as failed, as `exit 1` does."""
    return any(_exits(command) for _, pipeline in script.items for command in pipeline.commands)


def _exits(command: Command) -> bool:
    match command:
        case Simple(words=(first, *rest)):
            status = rest[0].raw if rest else "0"
            return first.raw == "false" or (first.raw in {"exit", "return"} and status != "0")
        case Group(body=body):
            return exits(body)
        case If(branches=branches):
            return any(exits(body) for _, body in branches)
        case _:
            return False


def decides(command: If, variables: Mapping[str, str]) -> bool:
    """Return True if only a shell knows whether an `if` ends the step as failed.

    It compares what a command prints, or runs a program whose success is the failure. An `if` that
    starts other programs in its branches is followed instead.

    Args:
        command: The `if`.
        variables: The variables of the script.
    """
    if not any(exits(body) for _, body in command.branches):
        return False
    conditions = [condition for condition, _ in command.branches if condition is not None]
    quiet = [body for _, body in command.branches if not exits(body)]
    if any(_programs(body) for body in quiet):
        return False
    programs = [simple for condition in conditions for simple in _programs(condition)]
    if programs:
        first = command.branches[0]
        is_turned = any(pipeline.negated for _, pipeline in conditions[0].items)
        return exits(first[1]) and not is_turned and not _are_known(programs)
    return any(_is_computed_in(condition.items, variables) for condition in conditions)


def asks_for_program(condition: Script) -> bool:
    """Return True if a condition asks whether a program is there: `command -v docker`."""
    return any(
        simple.words[:1] and simple.words[0].raw in _SEEKERS
        for simple in _simple_commands(condition)
    )


def split_lists(script: Script) -> Iterator[tuple[tuple[str, Pipeline], ...]]:
    """Yield the lists of a script: pipelines that `&&` and `||` join."""
    parts: list[tuple[str, Pipeline]] = []
    for joined, pipeline in script.items:
        if not joined and parts:
            yield tuple(parts)
            parts = []
        parts.append((joined, pipeline))
    if parts:
        yield tuple(parts)


def is_decision(
    parts: Sequence[tuple[str, Pipeline]], variables: Mapping[str, str], *, is_last: bool
) -> bool:
    """Return True if only a shell knows whether a list of commands fails.

    `test -z "$(git status)"`, `[ -z "$(x)" ] || exit 1`, `grep x y && exit 1`, and `! grep x y` as
    the last list: elsewhere a shell ignores its failure.
    """
    first = parts[0][1]
    programs = _programs(Script((("", first),)))
    if len(parts) == 1:
        return (first.negated and is_last and bool(programs) and not _are_known(programs)) or (
            _is_test(first) and _is_computed_in((parts[0],), variables)
        )
    if not any(_exits(one) for _, pipeline in parts[1:] for one in pipeline.commands):
        return False
    others = [part for part in parts if not exits(Script((part,)))]
    if all(_is_test(pipeline) for _, pipeline in others):
        return _is_computed_in(others, variables)
    is_turned = parts[1][0] == "||" or first.negated
    return len(others) == 1 and bool(programs) and not is_turned and not _are_known(programs)


def notes_failure(pipeline: Pipeline) -> bool:
    """Return True if a pipeline behind `||` fails the script, or notes a failure in a variable."""
    first = pipeline.commands[0]
    is_assigned = isinstance(first, Simple) and bool(first.words) and "=" in first.words[0].raw
    return is_assigned or exits(Script((("", pipeline),)))


def _are_known(programs: Iterable[Simple]) -> bool:
    """Return True if one of the programs is a known check."""
    lines = (" ".join(word.raw for word in simple.words) for simple in programs)
    return any(classify_command(line) is not StepKind.OTHER for line in lines)


def _is_computed_in(parts: Iterable[tuple[str, Pipeline]], variables: Mapping[str, str]) -> bool:
    """Return True if a condition depends on the output of a command."""
    words = (word for simple in _simple_commands(Script(tuple(parts))) for word in simple.words)
    return any(_is_computed(word, variables) for word in words)


def _is_test(pipeline: Pipeline) -> bool:
    """Return True if a pipeline is one `test`, which compares something."""
    first = pipeline.commands[0]
    is_alone = len(pipeline.commands) == 1 and isinstance(first, Simple) and bool(first.words)
    return is_alone and isinstance(first, Simple) and first.words[0].raw in _TESTS


def _computed_in(text: str, variables: Mapping[str, str]) -> list[str]:
    """Return the assignments of the variables in a text that an earlier line computed, in order.

    Args:
        text: A part of the script.
        variables: All variables, those that are set first come first.
    """
    needed: list[str] = []
    left = [text]
    for one in left:  # grows below
        for name in re.findall(r"\$\{?#?([A-Za-z_]\w{0,99})", one):
            value = variables.get(name)
            is_new = name not in needed and len(needed) < len(variables)
            if is_new and isinstance(value, ShellExpression) and _COMPUTED.search(value):
                needed.append(name)
                left.append(value)
    return [f'{name}="{variables[name]}"' for name in variables if name in needed]


def _is_computed(word: Word, variables: Mapping[str, str]) -> bool:
    for part in word.parts:
        value = variables.get(part.text) if part.kind == "variable" else part.text
        is_live = part.kind == "live" or isinstance(value, ShellExpression)
        if is_live and value is not None and _COMPUTED.search(value):
            return True
    return False


def _programs(script: Script) -> list[Simple]:
    """Return the calls of a script that are none of the shell's own commands."""
    return [
        simple
        for simple in _simple_commands(script)
        if simple.words and simple.words[0].raw not in BUILT_IN and "=" not in simple.words[0].raw
    ]


def _simple_commands(script: Script) -> Iterator[Simple]:
    for _, pipeline in script.items:
        for command in pipeline.commands:
            if isinstance(command, Simple):
                yield command
            elif isinstance(command, Group):
                yield from _simple_commands(command.body)
            elif isinstance(command, If):
                for condition, body in command.branches:
                    yield from _simple_commands(condition or Script())
                    yield from _simple_commands(body)
