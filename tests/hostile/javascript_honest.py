"""JavaScript suites whose own runner gives a clear result, and the verdict that they must get."""

from typing import NamedTuple

from sandbox.types import RunVerdict


class Suite(NamedTuple):
    """A suite of one runner.

    Attributes:
        runner: The runner's name.
        command: The command line, which runs the whole suite.
        files: Contents of files that differ from the runner's usual ones.
        verdict: The verdict of a run.
    """

    runner: str
    command: str
    files: dict[str, str]
    verdict: RunVerdict = RunVerdict.PASS


SUITES: dict[str, Suite] = {
    "vitest: tests with an expect of their own": Suite(
        "vitest",
        "npx vitest run",
        {
            "shop.test.js": "import { test } from 'vitest'\n"
            "test('adds', async ({ expect }) => { expect(1 + 1).toBe(2) })\n"
            "test.concurrent('counts', async ({ expect }) => { expect([1]).toHaveLength(1) })\n"
        },
    ),
    "vitest: a setup file with matchers of jest-extended": Suite(
        "vitest",
        "npx vitest run",
        {
            "vitest.config.js": "export default { test: { setupFiles: ['./setup.js'] } }\n",
            "setup.js": "import { expect } from 'vitest'\n"
            "import * as matchers from 'jest-extended'\nexpect.extend(matchers)\n",
            "shop.test.js": "import { test, expect } from 'vitest'\n"
            "test('adds', () => { expect(2).toSatisfy((value) => value === 2) })\n",
        },
    ),
    "vitest: a setup file with chai-as-promised": Suite(
        "vitest",
        "npx vitest run",
        {
            "vitest.config.js": "export default { test: { setupFiles: ['./setup.js'] } }\n",
            "setup.js": "import { chai } from 'vitest'\n"
            "import promised from 'chai-as-promised'\nchai.use(promised)\n",
            "shop.test.js": "import { test, expect } from 'vitest'\ntest('adds', async () => {\n"
            "  await expect(Promise.resolve(2)).to.eventually.equal(2)\n})\n",
        },
    ),
    "jest: tests with equal names, the last one red": Suite(
        "jest",
        "npx jest",
        {
            "shop.test.js": "it.each([1, 2, 3])('adds', (count) => {\n"
            "  expect(count).toBeLessThan(3)\n})\n"
        },
        RunVerdict.FAIL,
    ),
    "jest: tests with equal names, green after a retry": Suite(
        "jest",
        "npx jest",
        {
            "shop.test.js": "jest.retryTimes(1)\nlet runs = 0\n"
            "it.each([1, 2])('adds', (count) => {\n"
            "  runs += 1\n  expect(count === 1 && runs === 1).toBe(false)\n})\n"
        },
    ),
}
