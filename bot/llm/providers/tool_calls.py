"""Convert native tool calls to the text that models write without them."""

import json
import re
from collections.abc import Iterable
from itertools import islice

_MOST_CALLS = 20
_ARGUMENT = 1_000
_NAME = 40
_QUOTES = "\"'`"


def append_calls(text: str, calls: Iterable[tuple[object, object]]) -> str:
    """Return a text with tool calls as a `tool` block at its end, one line each.

    Args:
        text: The text of the answer.
        calls: Name and arguments of each call, in order; untrusted.
    """
    lines = [_write(name, arguments) for name, arguments in islice(calls, _MOST_CALLS)]
    if not lines:
        return text
    block = "\n".join(["```tool", *lines, "```", ""])
    return f"{text.rstrip()}\n{block}" if text.strip() else block


def parse_arguments(text: object) -> object:
    """Return a call's arguments from their JSON; invalid JSON stays text, so that a model sees it.

    Args:
        text: The arguments as a server sends them.
    """
    if not isinstance(text, str):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _write(name: object, arguments: object) -> str:
    values = list(arguments.values()) if isinstance(arguments, dict) else [arguments]
    # One call is one line: nothing in an argument ends the block or begins another call.
    words = [" ".join(str(value).splitlines()) for value in values if value is not None]
    argument = " ".join(words)[:_ARGUMENT].strip()
    if len(argument) > 1 and argument[0] == argument[-1] and argument[0] in _QUOTES:
        argument = f'"{argument}"'
    word = re.sub(r"\W", "", str(name), flags=re.ASCII)[:_NAME] or "unnamed"
    return f"{word} {argument}".strip()
