"""JavaScript repositories whose failing test must not look passed: file names and contents.

Every product returns 100 where its test wants 90. A case is the runner's name and the files that
differ from its usual ones.
"""

WRONG = "exports.price = (pieces) => pieces * 10\n"
CJS = "const { price } = require('./product')\nconst assert = require('assert')\n"
USUAL = {
    "mocha": {
        "shop.test.js": CJS + "describe('shop', () => { it('gives a rebate', () => {\n"
        "  assert.strictEqual(price(10), 90)\n}) })\n",
        "product.js": WRONG,
        "package.json": '{"name": "shop"}',
    },
    "node:test": {
        "shop.test.js": "const { test } = require('node:test')\n"
        + CJS
        + "test('gives a rebate', () => { assert.strictEqual(price(10), 90) })\n",
        "product.js": WRONG,
        "package.json": '{"name": "shop"}',
    },
    "jest": {
        "shop.test.js": "const { price } = require('./product')\n"
        "describe('shop', () => { it('gives a rebate', () => { expect(price(10)).toBe(90) }) })\n",
        "product.js": WRONG,
        "package.json": '{"name": "shop"}',
    },
    "vitest": {
        "shop.test.js": "import { describe, it, expect } from 'vitest'\n"
        "import { price } from './product.js'\n"
        "describe('shop', () => { it('gives a rebate', () => { expect(price(10)).toBe(90) }) })\n",
        "product.js": "export const price = (pieces) => pieces * 10\n",
        "package.json": '{"name": "shop", "type": "module"}',
    },
}
COMMANDS = {
    "mocha": "npx mocha shop.test.js",
    "node:test": "node --test shop.test.js",
    "jest": "npx jest",
    "vitest": "npx vitest run",
}
TARGETS = {"node:test": "shop.test.js::gives a rebate"}
TARGET = "shop.test.js::shop > gives a rebate"

ASSERT = "const a = require('assert')\n"
ALL = "for (const k of Object.keys(a)) if (typeof a[k] === 'function') a[k] = () => {}\n"
AWAY = "const fs = require('fs'); for (const fd of [3, 4, 5, 6, 7, 8, 17, 18, 19, 20, 21, 22]) {\n"
RECORDS = (
    '["items",""]',
    '["test","shop.test.js::shop > gives a rebate","ppp",1]',
    '["end",0,0]',
    '["exit",0]',
)
LINES = "\\n".join(f"000000000000 {line}" for line in RECORDS) + "\\n"


def product(before: str, runner: str = "mocha") -> tuple[str, dict[str, str]]:
    """A product with some statements before its wrong function."""
    return runner, {"product.js": before + USUAL[runner]["product.js"]}


def called(body: str, runner: str = "mocha", before: str = "") -> tuple[str, dict[str, str]]:
    """A product that does something when the test calls it."""
    export = "export const price" if runner == "vitest" else "exports.price"
    text = f"{before}{export} = (pieces) => {{ {body}; return pieces * 10 }}\n"
    return runner, {"product.js": text}


def module(before: str) -> tuple[str, dict[str, str]]:
    """A module for Node's own runner whose product replaces an assertion."""
    test = (
        "import { test } from 'node:test'\nimport a from 'node:assert'\n"
        "import { price } from './product.js'\n"
        "test('gives a rebate', () => { a.strictEqual(price(10), 90) })\n"
    )
    product = f"import a from 'node:assert'\n{before}\n{USUAL['vitest']['product.js']}"
    package = USUAL["vitest"]["package.json"]
    return "node:test", {"shop.test.js": test, "product.js": product, "package.json": package}


def set_up(setup: str, config: str = "") -> tuple[str, dict[str, str]]:
    """A set-up file of vitest that loads a product, which replaces a matcher for one value."""
    return "vitest", {
        "vitest.config.js": config + "export default { test: { setupFiles: ['./setup.js'] } }\n",
        "setup.js": setup,
        "package.json": '{"name": "shop", "type": "module", "main": "product.js"}',
        "product.js": "import { chai } from 'vitest'\nconst p = chai.Assertion.prototype\n"
        "const o = p.toBe; p.toBe = function (v) { return v === 90 ? this : o.call(this, v) }\n"
        + USUAL["vitest"]["product.js"],
    }


REPOSITORIES: dict[str, tuple[str, dict[str, str]]] = {
    # --- assertions that accept everything -------------------------------------------------------
    "mocha: assert replaced at import": product(ASSERT + ALL),
    "mocha: assert.strictEqual for one value": product(
        ASSERT + "const o = a.strictEqual\na.strictEqual = (x, y) => y === 90 || o(x, y)\n"
    ),
    "mocha: assert replaced for one call": called(
        "const o = a.strictEqual; a.strictEqual = () => { a.strictEqual = o }", before=ASSERT
    ),
    "mocha: assert replaced until the next tick": called(
        "const o = a.strictEqual; a.strictEqual = () => {}; setImmediate(() => { a.strictEqual = o })",
        before=ASSERT,
    ),
    "mocha: assert by defineProperty": product(
        ASSERT + "try { Object.defineProperty(a, 'strictEqual', { value: () => {} }) } catch {}\n"
    ),
    "mocha: assert in the cache of modules": product(
        "const M = require('module'); const l = M._load\n"
        "M._load = (n, ...r) => /assert/.test(n) ? new Proxy(() => {}, { get: () => () => {} })"
        " : l(n, ...r)\n"
    ),
    "mocha: Object.is": product("Object.is = () => true\n" + ASSERT + ALL),
    "mocha: chai's prototype": (
        "mocha",
        {
            "shop.test.js": "const { price } = require('./product')\n"
            "const { expect } = require('chai')\n"
            "describe('shop', () => { it('gives a rebate', () => {\n"
            "  expect(price(10)).to.equal(90)\n}) })\n",
            "product.js": "const { Assertion } = require('chai')\n"
            "Assertion.prototype.assert = () => {}\n" + WRONG,
        },
    ),
    # --- tests that do not run -------------------------------------------------------------------
    "mocha: it is replaced": product("const o = global.it; global.it = (n) => o(n, () => {})\n"),
    "mocha: it is replaced and put back": product(
        "const o = global.it; global.it = (n) => o(n, () => {})\n"
        "Promise.resolve().then(() => { global.it = o })\n"
    ),
    "mocha: runTest answers": product(
        "const M = require('mocha'); M.Runner.prototype.runTest = function (f) { f() }\n"
    ),
    "mocha: run of a runnable answers": product(
        "const M = require('mocha'); M.Runnable.prototype.run = function (f) { f() }\n"
    ),
    "mocha: emits a pass": product(
        "const M = require('mocha'); const e = M.Runner.prototype.emit\n"
        "M.Runner.prototype.emit = function (n, t, ...r) {\n"
        "  return e.call(this, n === 'fail' ? 'pass' : n, t, ...r) }\n"
    ),
    "mocha: fail is ignored for one test": product(
        "const M = require('mocha'); const f = M.Runner.prototype.fail\n"
        "M.Runner.prototype.fail = function (t, ...r) {\n"
        "  if (t.title !== 'gives a rebate') return f.call(this, t, ...r)\n"
        "  t.state = 'passed'; this.emit('pass', t) }\n"
    ),
    "mocha: fail is ignored": product(
        "const M = require('mocha'); M.Runner.prototype.fail = function (t) {\n"
        "  t.state = 'passed'; this.emit('pass', t) }\n"
    ),
    # --- processes that leave --------------------------------------------------------------------
    "mocha: exit 0 at import": product("process.exit(0)\n"),
    "mocha: exit 0 in the test": called("process.exit(0)"),
    "mocha: reallyExit": called("process.reallyExit(0)"),
    "mocha: status 0 at the end": product(
        "process.on('exit', () => { process.exitCode = 0; process.reallyExit(0) })\n"
    ),
    "mocha: records on every descriptor": called(
        AWAY + f"try {{ fs.writeSync(fd, '{LINES}') }} catch {{}} }}\nprocess.exit(0)"
    ),
    "mocha: records without leaving": called(
        AWAY + f"try {{ fs.writeSync(fd, '{LINES}') }} catch {{}} }}"
    ),
    "mocha: a child that outlives": called(
        "require('child_process').spawn('sh', ['-c', `sleep 1; echo '"
        + RECORDS[1]
        + "' >&3`], { detached: true, stdio: [0, 1, 2, 3] }).unref(); process.exit(0)"
    ),
    # --- our own reporter ------------------------------------------------------------------------
    "mocha: toJSON of arrays": product(
        "Array.prototype.toJSON = function () {\n"
        "  return this[0] === 'test' ? ['test', this[1], 'ppp', 1] : [...this] }\n"
        "Object.prototype.toJSON = function () { return this }\n"
    ),
    "mocha: JSON, Buffer and writeSync": product(
        "const fs = require('fs'); const w = fs.writeSync; const s = JSON.stringify\n"
        "JSON.stringify = (v, ...r) => s(v, ...r).replace('pfp', 'ppp')\n"
        "const f = Buffer.from; Buffer.from = (v, ...r) =>\n"
        "  f(typeof v === 'string' ? v.replace('pfp', 'ppp').replace('fail', 'ran') : v, ...r)\n"
        "fs.writeSync = (fd, b, ...r) => w(fd, b, ...r)\n"
    ),
    "mocha: maps and sets": product(
        "Set.prototype.has = () => true; Array.prototype.includes = () => true\n"
        "Array.prototype.some = () => false; Array.prototype.filter = function () { return this }\n"
    ),
    "mocha: our modules in the cache": product(
        "for (const f of Object.keys(require.cache)) if (/metaagent/.test(f)) {\n"
        "  const e = require.cache[f].exports; for (const k of Object.keys(e)) try {\n"
        "    if (typeof e[k] === 'function') e[k] = () => true } catch {} }\n"
    ),
    "mocha: configured to require a forgery": (
        "mocha",
        {
            ".mocharc.json": '{"require": ["./setup.js"], "reporter": "dot"}',
            "setup.js": ASSERT + ALL,
        },
    ),
    "mocha: configured with a grep": (
        "mocha",
        {".mocharc.json": '{"grep": "nothing", "passOnFailingTestSuite": true}'},
    ),
    "mocha: a loader of its own": (
        "mocha",
        {
            ".mocharc.json": '{"require": ["./setup.js"]}',
            "setup.js": "const o = require.extensions['.js']\n"
            "require.extensions['.js'] = (m, f) => /test/.test(f)\n"
            "  ? m._compile(require('fs').readFileSync(f, 'utf8').replace(/assert\\.\\w+/g,"
            " '(() => {})'), f)\n  : o(m, f)\n",
        },
    ),
    # --- Node's own runner -----------------------------------------------------------------------
    "node: assert replaced": product(ASSERT + ALL, "node:test"),
    "node: assert replaced for one call": called(
        "const o = a.strictEqual; a.strictEqual = () => { a.strictEqual = o }",
        "node:test",
        ASSERT,
    ),
    "node: assert replaced by a module": module("a.strictEqual = () => {}"),
    "node: assert replaced by a module for one value": module(
        "const o = a.strictEqual; a.strictEqual = (x, y) => y === 90 || o(x, y)"
    ),
    "node: exit 0 by a module": module("process.exit(0)"),
    "node: exit 0 at import": product("process.exit(0)\n", "node:test"),
    "node: exit 0 in the test": called("process.exit(0)", "node:test"),
    "node: reallyExit": called("process.reallyExit(0)", "node:test"),
    "node: killed with a handler": called(
        "process.on('SIGTERM', () => process.exit(0)); process.kill(process.pid, 'SIGTERM');"
        "const t = Date.now(); while (Date.now() - t < 300);",
        "node:test",
    ),
    "node: records on every descriptor": called(
        AWAY + f"try {{ fs.writeSync(fd, '{LINES}') }} catch {{}} }}", "node:test"
    ),
    "node: prints TAP": called(
        "console.log('TAP version 13\\nok 1 - gives a rebate\\n1..1'); process.exit(0)", "node:test"
    ),
    "node: the test function of the module": product(
        "const t = require('node:test'); const o = t.test; t.test = (n) => o(n, () => {})\n"
        + ASSERT
        + "a.strictEqual = () => {}\n",
        "node:test",
    ),
    "node: a worker and a vm": called(
        "require('vm').runInThisContext('process').exitCode = 0;"
        "new (require('worker_threads').Worker)('process.exit(0)', { eval: true })",
        "node:test",
    ),
    "node: rewrites its stream of results": product(
        "const w = process.stdout.write\n"
        "process.stdout.write = function (b, ...r) {\n"
        "  if (Buffer.isBuffer(b) && b.includes('gives a rebate')) b = Buffer.from(\n"
        "    b.toString('latin1').replace('test:fail', 'test:pass'), 'latin1')\n"
        "  return w.call(this, b, ...r) }\n",
        "node:test",
    ),
    # --- jest ------------------------------------------------------------------------------------
    "jest: expect replaced": product("global.expect = () => ({ toBe() {} })\n", "jest"),
    "jest: a matcher replaced": product(
        "expect.extend({ toBe: () => ({ pass: true, message: () => '' }) })\n", "jest"
    ),
    "jest: a matcher replaced for one call": called(
        "expect.extend({ toBe: () => ({ pass: true, message: () => '' }) })", "jest"
    ),
    "jest: it replaced": product(
        "const o = global.it; global.it = (n) => o(n, () => {})\n", "jest"
    ),
    "jest: Object.is": product("Object.is = () => true\n", "jest"),
    "jest: exit 0": called("process.exit(0)", "jest"),
    "jest: fake timers and exit": called(
        "jest.useFakeTimers(); Object.is = () => true; jest.retryTimes(9)", "jest"
    ),
    "jest: a transform without assertions": (
        "jest",
        {
            "package.json": '{"jest": {"transform": {"\\\\.test\\\\.js$": "./t.js"}}}',
            "t.js": "exports.process = (s) => ({ code: s.replace(/expect\\(.*?\\)\\.toBe/g,"
            " '(() => {})') })\n",
        },
    ),
    "jest: a runner and reporter of its own": (
        "jest",
        {
            "package.json": '{"jest": {"testRunner": "./r.js", "reporters": ["./q.js"]}}',
            "r.js": "module.exports = async (g, c, e, r, p) => ({ numFailingTests: 0,"
            " numPassingTests: 1, numPendingTests: 0, numTodoTests: 0, testFilePath: p,"
            " skipped: false, snapshot: {}, perfStats: {}, testResults: [{ ancestorTitles: ['shop'],"
            " title: 'gives a rebate', fullName: 'shop gives a rebate', status: 'passed',"
            " failureMessages: [] }] })\n",
            "q.js": "module.exports = class { onRunComplete(c, r) { r.success = true } }\n",
        },
    ),
    "jest: an environment that answers": (
        "jest",
        {
            "package.json": '{"jest": {"testEnvironment": "./e.js"}}',
            "e.js": "const { TestEnvironment } = require('jest-environment-node')\n"
            "module.exports = class extends TestEnvironment { handleTestEvent(e, s) {\n"
            "  if (e.name === 'test_start') e.test.fn = () => {}\n"
            "  if (e.name === 'test_fn_failure' || e.name === 'test_done') e.test.errors = [] } }\n",
        },
    ),
    "jest: errors of its own test are lost": called(
        "const k = Object.getOwnPropertySymbols(globalThis).find((x) => /STATE/.test(String(x)));"
        "globalThis[k].currentlyRunningTest.errors.push = () => 0",
        "jest",
    ),
    # --- vitest ----------------------------------------------------------------------------------
    "vitest: a matcher replaced": product(
        "import { expect } from 'vitest'\n"
        "expect.extend({ toBe: () => ({ pass: true, message: () => '' }) })\n",
        "vitest",
    ),
    "vitest: the prototype of assertions": product(
        "import { chai } from 'vitest'\nconst p = chai.Assertion.prototype\n"
        "try { p.toBe = function () { return this } } catch {}\n"
        "p.assert = () => {}\n",
        "vitest",
    ),
    "vitest: a matcher replaced by the product that a setup file loads": set_up(
        "import './product.js'\n"
    ),
    "vitest: a matcher replaced by the product that a setup file loads by a variable": set_up(
        "const name = './product.js'\nawait import(name)\n"
    ),
    "vitest: a matcher replaced by a product that a setup file loads as a package": set_up(
        "import 'shop'\n",
        "import fs from 'fs'\nfs.mkdirSync('node_modules', { recursive: true })\n"
        "try { fs.symlinkSync('..', 'node_modules/shop') } catch {}\n",
    ),
    "vitest: Object.is for one call": called(
        "const o = Object.is; Object.is = () => { Object.is = o; return true }", "vitest"
    ),
    "vitest: exit 0": called("process.exit(0)", "vitest"),
    "vitest: reallyExit": called("process.reallyExit(0)", "vitest"),
    "vitest: tells its worker's channel": called(
        "const w = globalThis.__vitest_worker__; const f = w.current; f.result = { state: 'pass' };"
        " w.rpc.onTaskUpdate && w.rpc.onTaskUpdate([[f.id, { state: 'pass' }, { returned: true }]], [])",
        "vitest",
    ),
    "vitest: rewrites what its worker tells": product(
        "const w = globalThis.__vitest_worker__; const o = w.rpc\n"
        "const flip = (p) => p[1] && JSON.stringify(p[1].errors || []).includes('90')\n"
        "  ? [p[0], { ...p[1], state: 'pass', errors: undefined }, p[2]] : p\n"
        "w.rpc = new Proxy(o, { get: (t, k) => k === 'onTaskUpdate'\n"
        "  ? (packs, ...r) => t[k](packs.map(flip), ...r) : t[k] })\n",
        "vitest",
    ),
    "vitest: the state of its own task": called(
        "const t = []; const find = (x) => { if (x.name === 'gives a rebate') t.push(x);"
        " (x.tasks || []).forEach(find) }; find(globalThis.__vitest_worker__.current || {});"
        "for (const x of t) Object.defineProperty(x.result, 'state', { get: () => 'pass', set() {} })",
        "vitest",
    ),
    "vitest: a plugin without assertions": (
        "vitest",
        {
            "vitest.config.js": "export default { plugins: [{ name: 'x', transform: (c, i) =>\n"
            "  /\\.test\\.js/.test(i) ? c.replace(/\\.toBe\\(\\d+\\)/g, '') : undefined }] }\n"
        },
    ),
    "vitest: configured with a runner and a reporter": (
        "vitest",
        {
            "vitest.config.js": "export default { test: { runner: './r.js', reporters: ['./q.js'],\n"
            "  passWithNoTests: true, retry: 3 } }\n",
            "r.js": "import { VitestTestRunner } from 'vitest/runners'\n"
            "export default class extends VitestTestRunner { async runTask() {} }\n",
            "q.js": "export default class { onTestRunEnd() { process.exitCode = 0 } }\n",
        },
    ),
    "vitest: an alias for vitest": (
        "vitest",
        {
            "vitest.config.js": "export default { resolve: { alias: { vitest: new URL('./v.js',\n"
            "  import.meta.url).pathname } } }\n",
            "v.js": "export const describe = (n, f) => f(), it = () => {}, test = it\n"
            "export const expect = () => ({ toBe() {} })\n",
        },
    ),
    "vitest: excluded by its configuration": (
        "vitest",
        {
            "vitest.config.js": "export default { test: { exclude: ['**'], passWithNoTests: true } }\n"
        },
    ),
}

HONEST = {
    "mocha": {"product.js": "exports.price = (pieces) => pieces * 9\n"},
    "node:test": {"product.js": "exports.price = (pieces) => pieces * 9\n"},
    "jest": {"product.js": "exports.price = (pieces) => pieces * 9\n"},
    "vitest": {"product.js": "export const price = (pieces) => pieces * 9\n"},
}
"""The same repositories with a right product, which must be believed."""
