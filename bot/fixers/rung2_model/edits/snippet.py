"""One fence of an answer, parsed as Python: definitions, imports and possible files."""

import ast
from collections.abc import Sequence

from bot.fixers.rung2_model.edits.apply import elision_in, find_file
from bot.fixers.rung2_model.edits.labels import Fence
from bot.fixers.rung2_model.edits.match import indentation
from bot.fixers.rung2_model.edits.parsed_file import ParsedFile
from bot.fixers.rung2_model.edits.symbols import Definition
from bot.fixers.rung2_model.edits.values import EditRules, Reason, Rejection
from sandbox.changes.syntax import is_python, parse

PYTHON = frozenset({"", "py", "python", "python3", "py3", "pyi"})
"""Language names of a Python fence."""
_ALIASES = {
    "md": "markdown",
    "yml": "yaml",
    "rs": "rust",
    "rb": "ruby",
}
_WEB = frozenset({"javascript", "typescript", "js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts"})
"""Language names and suffixes of JavaScript and TypeScript, which answers often mix."""
_WRAPPER = "if 1:"


class FenceRejected(Exception):
    """A fence was rejected."""

    def __init__(self, reason: Reason, message: str, path: str = "") -> None:
        super().__init__(message)
        self.rejection = Rejection(reason=reason, path=path, message=message)


class Snippet:
    """A parsed fence.

    Args:
        fence: A fence of the answer.
        sent: The files the model saw.
        rules: Limits of the answer.
    """

    def __init__(self, fence: Fence, sent: Sequence[ParsedFile], rules: EditRules) -> None:
        self.fence = fence
        self.path = fence.label.path
        """As written in the answer; empty if it has none."""
        self.labelled = find_file(self.path, sent, rules) if self.path else None
        self.files = (
            [self.labelled]
            if self.labelled is not None
            else [file for file in sent if file.editable]
        )
        """Files it may be for."""
        first = next((line for line in fence.lines if line.strip()), "")
        # A method may be sent with its indentation. Dedenting it would change its strings.
        self.code: tuple[str, ...] = (_WRAPPER, *fence.lines) if indentation(first) else fence.lines
        """The lines that the definitions' line numbers refer to."""
        tree = parse("\n".join(self.code))
        self.is_broken = tree is None
        body = _body(tree, self.code) if tree is not None and fence.language in PYTHON else []
        self.imports = [each for each in body if isinstance(each, ast.Import | ast.ImportFrom)]
        self.definitions = [
            each
            for each in body
            if isinstance(each, Definition) and (self.path or not each.name.startswith("test"))
        ]
        """Without tests that the model added as a demonstration."""
        self.others = [each for each in body if is_other(each)]

    def is_for(self, path: str) -> bool:
        """Return True if its language matches a file's suffix."""
        suffix = path.rpartition(".")[2].lower()
        if is_python(path):
            return self.fence.language in PYTHON
        if suffix in _WEB:
            return self.fence.language in _WEB | {""}
        return self.fence.language in {"", suffix, _ALIASES.get(suffix, suffix)}

    def check(self, file: ParsedFile) -> None:
        """Verify that the fence may replace code of a file.

        Raises:
            FenceRejected: The file is read-only, or the code is incomplete.
        """
        if not file.editable:
            raise FenceRejected(Reason.PROTECTED, "this file is read-only", file.path)
        if (elided := elision_in(self.fence.lines, file.text)) is not None:
            raise FenceRejected(Reason.ELIDED, elided, file.path)


def is_other(statement: ast.stmt) -> bool:
    """Return True for statements that matter beyond definitions and imports.

    Docstrings, asserts and calls of `print` do not: models add them as a demonstration.
    """
    if isinstance(statement, ast.Expr):
        value = statement.value
        called = (
            value.func.id
            if isinstance(value, ast.Call) and isinstance(value.func, ast.Name)
            else ""
        )
        return called != "print" and not isinstance(value, ast.Constant)
    return not isinstance(
        statement, ast.Import | ast.ImportFrom | Definition | ast.Assert | ast.Pass
    )


def _body(tree: ast.Module, code: Sequence[str]) -> list[ast.stmt]:
    first = tree.body[0] if tree.body else None
    return first.body if isinstance(first, ast.If) and code[0] == _WRAPPER else tree.body
