"""Missing files and text in the wrong encoding."""

from __future__ import annotations

import ast
from typing import Iterator

from sandbox.guest.search.candidates.spots import FailureContext, GuidedProposal, Spot
from sandbox.guest.search.candidates.templates.guided.wrong_value import wrap_in_try
from sandbox.guest.search.source.render import TextEdit

COST = 0.4
CHANGES = (
    (
        (
            "UnicodeDecodeError: 'ascii' codec can't decode byte 0xc3 in position 1: ordinal not "
            "in range(128)"
        ),
        2,
        "def f(p):\n    with open(p) as g:\n        return g.read()\n",
        "def f(p):\n    with open(p, encoding='utf-8') as g:\n        return g.read()\n",
    ),
    (
        (
            "UnicodeDecodeError: 'ascii' codec can't decode byte 0xc3 in position 1: ordinal not "
            "in range(128)"
        ),
        2,
        "def f(b):\n    return b.decode('ascii')\n",
        "def f(b):\n    return b.decode('utf-8')\n",
    ),
    (
        (
            "UnicodeDecodeError: 'utf-8' codec can't decode byte 0xff in position 0: invalid "
            "start byte"
        ),
        2,
        "def f(b):\n    return b.decode()\n",
        "def f(b):\n    return b.decode(errors='replace')\n",
    ),
    (
        "FileNotFoundError: [Errno 2] No such file or directory: 'x'",
        2,
        "def f(p):\n    return open(p).read()\n",
        (
            "def f(p):\n    try:\n        return open(p).read()\n    except FileNotFoundError:\n"
            "        return None\n"
        ),
    ),
    (
        "FileNotFoundError: [Errno 2] No such file or directory: 'data.txt'",
        4,
        "import os\n\ndef f():\n    return open('data.txt').read()\n",
        (
            "import os\n\ndef f():\n"
            "    return open(os.path.join(os.path.dirname(__file__), 'data.txt')).read()\n"
        ),
    ),
)
UNTOUCHED = (("ValueError: no", 2, "def f(p):\n    return open(p)\n"),)

OPENERS = ("open", "read_text", "write_text", "fdopen", "TextIOWrapper")


def propose(view: FailureContext) -> Iterator[GuidedProposal]:
    """Repair encodings, or the use of a missing file, in the two innermost frames."""
    failure = view.failure
    for depth, spot in enumerate(view.spots[:2]):
        changes: Iterator[GuidedProposal] = iter(())
        if failure.is_a(
            "UnicodeError", "UnicodeDecodeError", "UnicodeEncodeError", "EncodingWarning"
        ):
            changes = _encodings(spot)
        elif failure.is_a("FileNotFoundError"):
            changes = _not_there(spot)
        for change in changes:
            yield change._replace(cost=change.cost + 0.4 * depth)


def _encodings(spot: Spot) -> Iterator[GuidedProposal]:
    for call in spot.find(ast.Call)[:3]:
        name = getattr(call.func, "id", getattr(call.func, "attr", ""))
        end = spot.source.span(call)[1] - 1
        given = {k.arg for k in call.keywords}
        comma = ", " if call.args or call.keywords else ""
        if name in OPENERS and "encoding" not in given:
            for rank, encoding in enumerate(("utf-8", "utf-8-sig", "latin-1")):
                text = f"{comma}encoding={encoding!r}"
                yield spot.edit(COST - 0.2 + 0.15 * rank, TextEdit(end, end, text), harmless=True)
        if name in (*OPENERS, "decode", "encode") and "errors" not in given and len(call.args) < 2:
            for rank, errors in enumerate(("replace", "ignore", "surrogateescape")):
                yield spot.edit(
                    COST + 0.1 * rank,
                    TextEdit(end, end, f"{comma}errors={errors!r}"),
                    harmless=True,
                )
        for node in [*call.args, *(k.value for k in call.keywords)]:
            if (
                isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and name in ("decode", "encode", *OPENERS)
            ):
                for rank, encoding in enumerate(
                    ("utf-8", "latin-1", "utf-8-sig", "utf-16", "cp1252")
                ):
                    if len(node.value) > 3:
                        yield spot.replace(COST - 0.1 + 0.1 * rank, node, repr(encoding))


def _not_there(spot: Spot) -> Iterator[GuidedProposal]:
    for call in spot.find(ast.Call)[:3]:
        for argument in call.args[:1]:
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                # A relative path depends on the working directory; the module's folder does not.
                text = f"os.path.join(os.path.dirname(__file__), {spot.text(argument)})"
                yield spot.replace(COST, argument, text)
                name = getattr(call.func, "id", getattr(call.func, "attr", ""))
                if name == "Path":
                    yield spot.replace(COST, call, f"Path(__file__).parent / {spot.text(argument)}")
            elif isinstance(argument, (ast.Name, ast.Attribute)):
                path = spot.text(argument)
                for rank, leave in enumerate(
                    ("return None", "return []", "return ''", "return {}", "return False")
                ):
                    yield from spot.before(
                        COST + 0.1 + 0.06 * rank, f"if not os.path.exists({path}):\n    {leave}"
                    )
    yield from wrap_in_try(spot, "FileNotFoundError", COST + 0.1)
