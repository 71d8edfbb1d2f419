"""One fence of an answer, read as Python: its definitions, its imports, and which file it may be for."""

import ast
from collections.abc import Sequence

from bot.fixers.rung2_model.edits.apply import elision_in, file_of
from bot.fixers.rung2_model.edits.labels import Fence
from bot.fixers.rung2_model.edits.match import indentation
from bot.fixers.rung2_model.edits.opened import Opened
from bot.fixers.rung2_model.edits.symbols import Definition
from bot.fixers.rung2_model.edits.values import EditRules, Reason, Rejection
from sandbox.changes.syntax import is_python, parse

PYTHON = frozenset({"", "py", "python", "python3", "py3", "pyi"})
"""What a fence with Python says of its language."""
_ALIASES = {"js": "javascript", "ts": "typescript", "md": "markdown", "yml": "yaml", "rs": "rust", "rb": "ruby"}
_WRAPPER = "if 1:"


class NotTaken(Exception):
    """Why a fence is not taken."""

    def __init__(self, reason: Reason, message: str, path: str = "") -> None:
        super().__init__(message)
        self.rejection = Rejection(reason=reason, path=path, message=message)


class Snippet:
    """A fence and what is in it.

    Args:
        fence: Of an answer.
        sent: The files the model saw.
        rules: What it may do.
    """

    def __init__(self, fence: Fence, sent: Sequence[Opened], rules: EditRules) -> None:
        self.fence = fence
        self.path = fence.label.path
        """As the answer spells it; empty where it names none."""
        self.labelled = file_of(self.path, sent, rules) if self.path else None
        self.files = [self.labelled] if self.labelled is not None else [file for file in sent if file.editable]
        """Those it may be for."""
        first = next((line for line in fence.lines if line.strip()), "")
        # A method may be sent as far in as it stands; moving it here would change its strings.
        self.code: tuple[str, ...] = (_WRAPPER, *fence.lines) if indentation(first) else fence.lines
        """The lines the definitions count in."""
        tree = parse("\n".join(self.code))
        self.is_broken = tree is None
        body = _body(tree, self.code) if tree is not None and fence.language in PYTHON else []
        self.imports = [each for each in body if isinstance(each, ast.Import | ast.ImportFrom)]
        self.definitions = [
            each for each in body if isinstance(each, Definition) and (self.path or not each.name.startswith("test"))
        ]
        """Tests a model adds to show that it is right are not among them."""
        self.others = [each for each in body if is_other(each)]

    def is_for(self, path: str) -> bool:
        """Whether its language is that of a file."""
        suffix = path.rpartition(".")[2].lower()
        if is_python(path):
            return self.fence.language in PYTHON
        return self.fence.language in {"", suffix, _ALIASES.get(suffix, suffix)}

    def check(self, file: Opened) -> None:
        """Look at what speaks against putting it into a file at all.

        Raises:
            NotTaken: something does.
        """
        if not file.editable:
            raise NotTaken(Reason.PROTECTED, "it was shown to be read only", file.path)
        if (elided := elision_in(self.fence.lines, file.text)) is not None:
            raise NotTaken(Reason.ELIDED, elided, file.path)


def is_other(statement: ast.stmt) -> bool:
    """Neither definition nor import, nor what a model adds to show how a function is used, nor a docstring."""
    if isinstance(statement, ast.Expr):
        value = statement.value
        called = value.func.id if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) else ""
        return called != "print" and not isinstance(value, ast.Constant)
    return not isinstance(statement, ast.Import | ast.ImportFrom | Definition | ast.Assert | ast.Pass)


def _body(tree: ast.Module, code: Sequence[str]) -> list[ast.stmt]:
    first = tree.body[0] if tree.body else None
    return first.body if isinstance(first, ast.If) and code[0] == _WRAPPER else tree.body
