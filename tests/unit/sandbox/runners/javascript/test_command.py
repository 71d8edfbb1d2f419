"""Which command lines start only a JavaScript test runner, and with what."""

import pytest

from sandbox.runners import detect_runner
from sandbox.runners.javascript.command import split_node_command


@pytest.mark.parametrize(
    ("command", "tool", "args"),
    [
        ("npx vitest run src", "vitest", ("src",)),
        ("vitest --run -t 'adds two'", "vitest", ("--run", "-t", "adds two")),
        ("pnpm exec vitest run", "vitest", ()),
        ("npx --no-install jest --ci", "jest", ("--ci",)),
        ("node --experimental-vm-modules node_modules/jest/bin/jest.js -i", "jest", ("-i",)),
        ("node_modules/.bin/mocha test", "mocha", ("test",)),
        ("npx c8 --reporter=text mocha 'test/*.mjs'", "mocha", ("test/*.mjs",)),
        ("nyc -r lcov mocha", "mocha", ()),
        ("NODE_ENV=test npx cross-env TZ=UTC jest", "jest", ()),
        ("node --test", "node:test", ()),
        ("node --import tsx --test test/a.ts", "node:test", ("--import", "tsx", "test/a.ts")),
        ("bunx vitest", "vitest", ()),
        ("node --test dist/*.js", "node:test", ("dist/*.js",)),
        ("npx mocha test/**/*.spec.js", "mocha", ("test/**/*.spec.js",)),
    ],
)
def test_a_command_is_split(command: str, tool: str, args: tuple[str, ...]) -> None:
    found = split_node_command(command)
    assert found is not None
    assert (found.tool, found.args) == (tool, args)
    assert detect_runner(command).name == tool


def test_variables_and_options_of_node_are_kept() -> None:
    found = split_node_command("A=1 cross-env B=2 node --no-warnings node_modules/.bin/jest")
    assert found is not None
    assert found.environment == {"A": "1", "B": "2"}
    assert found.node_options == ("--no-warnings",)


@pytest.mark.parametrize(
    "command",
    [
        "npx vitest run | tee log",
        "npx jest src/*.js",
        "node --test dist/*.js && rm *",
        "npx vitest bench",
        "npx vitest --browser",
        "npx jest --listTests",
        "npx tap test",
        "node test.js",
        "node -e 'require(\"jest\")' --test-me",
        "npx eslint .",
        "echo vitest",
        "",
        "x" * 3000,
    ],
)
def test_other_commands_are_left_to_others(command: str) -> None:
    assert split_node_command(command) is None
