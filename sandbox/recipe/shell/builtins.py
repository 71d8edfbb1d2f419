"""Follow the commands of the shell itself: `cd`, `export`, `test` and the like."""

import re
from collections.abc import Callable, Mapping

from sandbox.recipe.files import inside
from sandbox.recipe.shell.calls import CHECKOUT_PATH, State
from sandbox.recipe.shell.conditions import evaluate_test
from sandbox.recipe.shell.syntax import Pipeline, Simple
from sandbox.recipe.shell.words import Expanded, ShellExpression

BuiltIn = Callable[[list[str], Simple, State], bool | None]

ASSIGNMENT = re.compile(r"([A-Za-z_]\w{0,99})=(.*)", re.DOTALL)
_SETTING = re.compile(r"([A-Za-z_]\w{0,99})=([^\n]*)")
_MOST_FOLDERS = 20


def _cd(words: list[str], _command: Simple, state: State) -> bool | None:
    target = next((word for word in words[1:] if not word.startswith("-") or word == "-"), "")
    if words[0] == "popd" or target == "-":
        state.enter(state.folders.pop() if state.folders else state.folder)
        return True
    state.folders.append(state.folder)
    folder = inside(state.folder or ".", target)
    is_known = state.folder is not None or CHECKOUT_PATH.fullmatch(target) is not None
    state.enter(folder if is_known and not set("$`") & set(folder or "") else None)
    del state.folders[:-_MOST_FOLDERS]
    return True


def _export(words: list[str], _command: Simple, state: State) -> bool | None:
    for word in words[1:]:
        if (found := ASSIGNMENT.fullmatch(word)) is not None:
            value = ShellExpression(found[2]) if re.search(r"[$`]", found[2]) else found[2]
            state.variables.export(found[1], value)
        else:
            state.variables.export(word)
    return True


def _forget(words: list[str], _command: Simple, state: State) -> bool | None:
    """Follow `read NAME` and the like, which set variables to something unknown."""
    state.variables.forget(" ".join(words[1:]))
    return True


def _source(words: list[str], _command: Simple, state: State) -> bool | None:
    """Follow `source FILE`: it may set any variable, unless it activates an environment."""
    if not words[-1].endswith("/activate"):
        state.variables.forget_all()
    return True


def _unset(words: list[str], _command: Simple, state: State) -> bool | None:
    for word in words[1:]:
        state.variables.unset(word)
    return True


def _echo(words: list[str], command: Simple, state: State) -> bool | None:
    """Drop output, unless it sets a variable for later steps or writes a file."""
    for operator, target in command.redirections:
        if target.raw.strip("\"'") in {"$GITHUB_ENV", "${GITHUB_ENV}"}:
            for name, value in _SETTING.findall("\n".join(words[1:])):
                if not re.search(r"[$`]", value):
                    state.later[name] = value
                    state.variables.export(name, value)
        elif (
            ">" in operator
            and ">&" not in operator
            and "GITHUB_" not in target.raw
            and target.raw != "/dev/null"
        ):
            text = " ".join([*(word.raw for word in command.words), operator, target.raw])
            own = [Expanded(words[0], text)]
            state.add(own, {}, Pipeline((command,), text), whole=False)
    return True


def _test(words: list[str], _command: Simple, state: State) -> bool | None:
    return evaluate_test(words, state.files, state.folder)


def _true(_words: list[str], _command: Simple, _state: State) -> bool | None:
    return True


def _false(_words: list[str], _command: Simple, _state: State) -> bool | None:
    return False


def _unknown(_words: list[str], _command: Simple, _state: State) -> bool | None:
    return None


BUILT_IN: Mapping[str, BuiltIn] = {
    **dict.fromkeys(["cd", "pushd", "popd"], _cd),
    **dict.fromkeys(["export", "declare", "readonly", "local"], _export),
    **dict.fromkeys(["echo", "printf"], _echo),
    **dict.fromkeys(["[", "[[", "test"], _test),
    **dict.fromkeys(["command", "type", "which"], _unknown),
    "false": _false,
    **dict.fromkeys(["source", "."], _source),
    "unset": _unset,
    **dict.fromkeys(["read", "mapfile", "readarray", "getopts"], _forget),
    **dict.fromkeys(
        ["set", "shopt", "true", ":", "exit", "return", "ulimit", "umask", "trap", "wait", "alias",
        "sleep", "ls", "pwd", "date", "whoami", "id", "uname", "df", "free", "nproc"],
        _true,
    ),
}  # fmt: skip
"""Follows a command of the shell itself. Its status is None if only a shell knows it."""
