"""ToolWorkspace: a checkout in memory in which a tool rewrites files as it is told."""

from typing import Any

from typing_extensions import override

from sandbox.types import CommandResult, Recipe
from tests.builders import facts
from tests.fakes.fake_workspace import FakeWorkspace

UNTIDY = {
    "calculator.py": "import os\nx = 1\n",
    "tests/test_x.py": "import os\nx  =  1\n",
    "conftest.py": "import os\n",
    "web/a.test.ts": "f('a',b)\n",
    "a_test.go": "package a\nvar b=1\n",
    "tests/a.rs": "fn  a() {}\n",
}


class ToolWorkspace(FakeWorkspace):
    """A FakeWorkspace whose commands leave edits behind.

    Args:
        recipe: What failed.
        rewrites: What the tool leaves, by path.
        status: How the tool ends.
    """

    def __init__(
        self, recipe: Recipe, rewrites: dict[str, bytes], status: int | None = 0, **more: Any
    ) -> None:
        super().__init__(UNTIDY, facts=facts(recipe=recipe), **more)
        self._rewrites = rewrites
        self._status = status

    @override
    async def run(self, command: str, *, timeout_s: float | None = None) -> CommandResult:
        result = await super().run(command, timeout_s=timeout_s)
        if command.endswith("--version"):
            return result.with_(stdout="ruff 0.9.9\n")
        if "--check" in command or "command -v" in command:
            return result
        self._tree.update(self._rewrites)
        return result.with_(exit_code=self._status, stderr="\x1b[31mno such option\x1b[0m")
