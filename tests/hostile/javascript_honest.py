"""JavaScript suites whose own runner gives a clear result, and the verdict that they must get."""

from typing import NamedTuple

from sandbox.types import RunVerdict

PACKAGE = {"package.json": '{"name": "shop"}'}
BROWSER_TEST = {
    "e2e/login.spec.ts": "import { test } from '@playwright/test'\n"
    "test('logs in', async ({ page }) => { await page.goto('/') })\n"
}
TYPED_TEST = (
    "import assert = require('assert')\n"
    "it('adds', () => { const sum: number = 1 + 1; assert.strictEqual(sum, 2) })\n"
)
SLOW_TEST = "it('adds (two', () => {})\nit('waits @slow', () => { throw new Error('too slow') })\n"
PLAIN_TEST = "import { test } from 'node:test'\ntest('adds', () => {})\n"


class Suite(NamedTuple):
    """A repository with a suite of tests.

    Attributes:
        command: The command line, which runs the whole suite.
        files: The contents of its files.
        verdict: The verdict of a run.
        targets: The requested tests; all without them.
    """

    command: str
    files: dict[str, str]
    verdict: RunVerdict = RunVerdict.PASS
    targets: tuple[str, ...] = ()


SUITES: dict[str, Suite] = {
    "vitest: tests with an expect of their own": Suite(
        "npx vitest run",
        {
            "shop.test.mjs": "import { test } from 'vitest'\n"
            "test('adds', async ({ expect }) => { expect(1 + 1).toBe(2) })\n"
            "test.concurrent('counts', async ({ expect }) => { expect([1]).toHaveLength(1) })\n"
        },
    ),
    "vitest: a setup file with matchers of jest-extended": Suite(
        "npx vitest run",
        {
            "vitest.config.mjs": "export default { test: { setupFiles: ['./setup.mjs'] } }\n",
            "setup.mjs": "import { expect } from 'vitest'\n"
            "import * as matchers from 'jest-extended'\nexpect.extend(matchers)\n",
            "shop.test.mjs": "import { test, expect } from 'vitest'\n"
            "test('adds', () => { expect(2).toSatisfy((value) => value === 2) })\n",
        },
    ),
    "vitest: tests with a document, loaded as for a browser": Suite(
        "npx vitest run",
        {
            "vitest.config.mjs": "export default { test: { environment: './document.mjs' } }\n",
            "document.mjs": "export default { name: 'document', transformMode: 'web', setup (all) {\n"
            "  all.document = { title: 'shop' }\n  return { teardown () {} }\n} }\n",
            "shop.test.mjs": "import { test, expect } from 'vitest'\n"
            "test('has a title', () => { expect(document.title).toBe('shop') })\n",
        },
    ),
    "vitest: checked types": Suite(
        "npx vitest run --typecheck",
        {
            "tsconfig.json": '{"compilerOptions": {"strict": true, "skipLibCheck": true, "types": []}}',
            "shop.test-d.ts": "import { test, expectTypeOf } from 'vitest'\n"
            "test('is a number', () => { expectTypeOf(1 + 1).toEqualTypeOf<number>() })\n",
            "shop.test.mjs": "import { test, expect } from 'vitest'\n"
            "test('adds', () => { expect(1 + 1).toBe(2) })\n",
        },
    ),
    "vitest: checked types with an error": Suite(
        "npx vitest run --typecheck",
        {
            "tsconfig.json": '{"compilerOptions": {"strict": true, "skipLibCheck": true, "types": []}}',
            "shop.test-d.ts": "import { test, expectTypeOf } from 'vitest'\n"
            "test('is a text', () => { expectTypeOf(1 + 1).toEqualTypeOf<string>() })\n",
        },
        RunVerdict.FAIL,
    ),
    "vitest: a setup file with chai-as-promised": Suite(
        "npx vitest run",
        {
            "vitest.config.mjs": "export default { test: { setupFiles: ['./setup.mjs'] } }\n",
            "setup.mjs": "import { chai } from 'vitest'\n"
            "import promised from 'chai-as-promised'\nchai.use(promised)\n",
            "shop.test.mjs": "import { test, expect } from 'vitest'\ntest('adds', async () => {\n"
            "  await expect(Promise.resolve(2)).to.eventually.equal(2)\n})\n",
        },
    ),
    "mocha: a red test that leaves a server open": Suite(
        "npx mocha",
        {
            "test/shop.js": "const server = require('http').createServer()\n"
            "it('listens', (done) => { server.listen(0, done) })\n"
            "it('adds', () => { if (1 + 1 !== 3) throw new Error('no sum') })\n"
        },
        RunVerdict.FAIL,
    ),
    "jest: one file by its path": Suite(
        "npx jest shop.test.js",
        {
            "shop.test.js": "it('adds', () => { expect(1 + 1).toBe(2) })\n",
            "other.test.js": "it('divides', () => { expect(1 / 2).toBe(2) })\n",
        },
    ),
    "jest: tests with equal names, the last one red": Suite(
        "npx jest",
        {
            "shop.test.js": "it.each([1, 2, 3])('adds', (count) => {\n"
            "  expect(count).toBeLessThan(3)\n})\n"
        },
        RunVerdict.FAIL,
    ),
    "jest: tests with equal names, green after a retry": Suite(
        "npx jest",
        {
            "shop.test.js": "jest.retryTimes(1)\nlet runs = 0\n"
            "it.each([1, 2])('adds', (count) => {\n"
            "  runs += 1\n  expect(count === 1 && runs === 1).toBe(false)\n})\n"
        },
    ),
    "vitest: tests of a browser in another folder": Suite(
        "npx vitest run unit",
        {
            **BROWSER_TEST,
            "unit/shop.test.mjs": "import { test, expect } from 'vitest'\n"
            "test('adds', () => { expect(1 + 1).toBe(2) })\n",
        },
    ),
    "mocha: checked types without esModuleInterop": Suite(
        "npx mocha -r ts-node/register 'unit/**/*.spec.ts'",
        {
            "tsconfig.json": '{"compilerOptions": {"strict": true, "noUnusedLocals": true,'
            ' "module": "commonjs", "types": ["node", "mocha"], "esModuleInterop": false}}',
            "unit/shop.spec.ts": TYPED_TEST,
        },
    ),
    "vitest: a test function of the project's own": Suite(
        "npx vitest run unit",
        {
            "unit/base.mjs": "import { test as base } from 'vitest'\n"
            "export const test = base.extend({ two: 2 })\nexport { expect } from 'vitest'\n",
            "unit/shop.test.mjs": "import { test, expect } from './base.mjs'\n"
            "test('adds', ({ two }) => { expect(1 + 1).toBe(two) })\n",
        },
    ),
    "node: a module that throws while it is loaded": Suite(
        "node --test unit/shop.test.mjs unit/price.test.mjs",
        {
            "unit/shop.test.mjs": PLAIN_TEST,
            "unit/price.test.mjs": "import { test } from 'node:test'\n"
            "test('has a price', () => {})\nthrow new Error('no price')\n",
        },
        RunVerdict.FAIL,
    ),
    "node: a module that ends with a status after its tests": Suite(
        "node --test unit/shop.test.mjs",
        {
            "unit/shop.test.mjs": f"{PLAIN_TEST}setTimeout(() => process.exit(0), 100)\n",
        },
    ),
    "node: a module in whose style no control can be written": Suite(
        "node --test unit/shop.test.js",
        {
            "package.json": '{"name": "shop", "type": "module"}',
            "unit/shop.test.js": "const { test } = await import('node:test')\n"
            "test('adds', () => {})\n",
        },
    ),
    "mocha: a loader by an option of Node.js": Suite(
        "npx mocha --import=tsx unit/shop.spec.ts", {"unit/shop.spec.ts": TYPED_TEST}
    ),
    "mocha: a loader by its configuration": Suite(
        "npx mocha",
        {
            ".mocharc.json": '{"node-option": ["import=tsx", "no-warnings"],'
            ' "spec": "unit/*.spec.ts"}',
            "unit/shop.spec.ts": TYPED_TEST,
        },
    ),
    "mocha: green after two retries": Suite(
        "npx mocha unit/shop.test.js",
        {
            "unit/shop.test.js": "let runs = 0\ndescribe('shop', function () {\n"
            "  this.retries(2)\n  it('adds', () => {\n"
            "    if ((runs += 1) < 3) throw new Error('not yet')\n  })\n})\n"
        },
    ),
    "mocha: all but slow tests": Suite(
        "npx mocha -g @slow --invert unit/shop.test.js", {"unit/shop.test.js": SLOW_TEST}
    ),
    "mocha: a name that is no pattern": Suite(
        "npx mocha --fgrep 'adds (two' unit/shop.test.js", {"unit/shop.test.js": SLOW_TEST}
    ),
    "mocha: a pattern with flags": Suite(
        "npx mocha -g /ADDS/i unit/shop.test.js", {"unit/shop.test.js": SLOW_TEST}
    ),
    "node: options with their values after a blank": Suite(
        "node --test --test-concurrency 1 --test-timeout 60000 --test-shard 1/1 unit/shop.test.mjs",
        {"unit/shop.test.mjs": PLAIN_TEST},
    ),
    "jest: a requested test in another share of the files": Suite(
        "npx jest --shard 2/2",
        {"shop.test.js": "test('adds', () => { expect(1 + 1).toBe(2) })\n"},
        targets=("shop.test.js::adds",),
    ),
    "mocha: variables of npm, and programs of packages": Suite(
        "npx mocha unit/shop.test.js",
        {
            "package.json": '{"name": "shop", "version": "1.2.3"}',
            "unit/shop.test.js": "const assert = require('assert')\n"
            "const { execFileSync } = require('child_process')\nit('runs programs', () => {\n"
            "  const { INIT_CWD, npm_package_name, npm_package_version } = process.env\n"
            "  assert.match(String(execFileSync('tsc', ['--version'])), /Version/)\n"
            "  assert.strictEqual(INIT_CWD, process.cwd())\n"
            "  assert.deepStrictEqual([npm_package_name, npm_package_version], ['shop', '1.2.3'])\n"
            "})\n",
        },
    ),
    "vitest: a product that drops control tests": Suite(
        "npx vitest run",
        {
            "product.mjs": "import { getCurrentSuite } from 'vitest/suite'\n"
            "const suite = getCurrentSuite()\nconst own = suite.collect\n"
            "suite.collect = async (file) => {\n  const all = await own(file)\n"
            "  all.tasks = all.tasks.filter((one) => one.name === 'adds')\n  return all\n}\n",
            "shop.test.mjs": "import { test, expect } from 'vitest'\nimport './product.mjs'\n"
            "test('adds', () => { expect(1 + 1).toBe(2) })\n",
            "other.test.mjs": "import { test, expect } from 'vitest'\n"
            "test('counts', () => { expect([1]).toHaveLength(1) })\n",
        },
        RunVerdict.NO_VERDICT,
    ),
    "jest: a check of style beside the tests, and one test alone": Suite(
        "npx jest",
        {
            "package.json": '{"jest": {"projects": [{"displayName": "test"}, {"displayName": "style",'
            ' "runner": "<rootDir>/style.js"}]}}',
            "style.js": "module.exports = class {\n  constructor () { this.isSerial = true }\n"
            "  async runTests (tests, watcher, onStart, onResult) {\n"
            "    for (const test of tests) await onResult(test, { testFilePath: test.path,\n"
            "      numFailingTests: 0, numPassingTests: 1, numPendingTests: 0, numTodoTests: 0,\n"
            "      skipped: false, leaks: false, openHandles: [], perfStats: { start: 0, end: 1 },\n"
            "      snapshot: { added: 0, fileDeleted: false, matched: 0, unchecked: 0,\n"
            "        uncheckedKeys: [], unmatched: 0, updated: 0 },\n"
            "      testResults: [{ ancestorTitles: [], title: 'style', fullName: 'style',\n"
            "        status: 'passed', failureMessages: [], duration: 1 }] })\n  }\n}\n",
            "shop.test.js": "test('adds', () => {})\n",
            "other.test.js": "test.only('counts', () => {})\ntest('waits', () => {})\n",
        },
    ),
}
