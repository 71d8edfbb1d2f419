"""JavaScript repositories that forge one test, or one value, and leave all others alone.

As in `javascript_forgeries.py`, every product returns 100 where its test wants 90. No control test
notices such a forgery, because it recognises the test by its title, text or expected value.
"""

from tests.hostile.javascript_forgeries import CJS, USUAL, WRONG, called, product

TITLE = "gives a rebate"
ESM_WRONG = USUAL["vitest"]["product.js"]
MOCHA = "const M = require('mocha')\n"
QUIET = f"(t, f) => t === '{TITLE}' ? () => {{ try {{ return f() }} catch {{}} }} : f"
"""A function that lets one test's function throw unseen."""
SPARED = "(e) => e && (e.expected === 90 || /\\b90\\b/.test(e.message))"
"""Recognises the error of one test."""
LIVE = (
    "const { Session } = require('inspector'); const s = new Session(); s.connect()\n"
    "let id; s.on('Debugger.scriptParsed', ({ params }) => {\n"
    "  if (/shop\\.test\\.js$/.test(params.url)) id = params.scriptId })\n"
    "s.post('Debugger.enable')\n"
    "exports.edit = () => s.post('Debugger.getScriptSource', { scriptId: id }, (e, r) =>\n"
    "  s.post('Debugger.setScriptSource', { scriptId: id,\n"
    "    scriptSource: r.scriptSource.replace(', 90)', ',100)') }, () => {}))\n"
)
"""Edits the text of a loaded test file in the running process."""
PUSH = (
    "const p = Array.prototype.push; Array.prototype.push = function (...all) {\n"
    "  for (const v of all) {\n"
    "    if (!v || !v.testResults || !/shop\\.test\\.js$/.test(v.testFilePath)) continue\n"
    f"    for (const one of v.testResults) if (one.title === '{TITLE}') {{\n"
    "      one.status = 'passed'; one.returned = true; one.failureMessages = []\n"
    "      v.numFailingTests = 0; v.failureMessage = null } }\n"
    "  return p.apply(this, all) }\n"
)
"""Changes a result of jest when it is kept."""


def mocha_test(body: str, head: str = CJS) -> dict[str, str]:
    """A test file of mocha with another body."""
    text = f"{head}describe('shop', () => {{ it('{TITLE}', {body}) }})\n"
    return {"shop.test.js": text}


def jest(config: str, **files: str) -> tuple[str, dict[str, str]]:
    """A repository with a configuration of jest; `_` in the name of a file is its point."""
    named = {name.replace("_", "."): text for name, text in files.items()}
    return "jest", {"package.json": f'{{"jest": {config}}}', **named}


def vitest(config: str, head: str = "", **files: str) -> tuple[str, dict[str, str]]:
    """A repository with a configuration of vitest."""
    named = {name.replace("_", "."): text for name, text in files.items()}
    return "vitest", {"vitest.config.js": f"{head}export default {config}\n", **named}


REPOSITORIES: dict[str, tuple[str, dict[str, str]]] = {
    # --- the function of one test ----------------------------------------------------------------
    "mocha: a suite adds another function": product(
        MOCHA + "const a = M.Suite.prototype.addTest; M.Suite.prototype.addTest = function (t) {\n"
        f"  t.fn = ({QUIET})(t.title, t.fn); return a.call(this, t) }}\n"
    ),
    "mocha: functions of tests behind an accessor": product(
        MOCHA + "Object.defineProperty(M.Runnable.prototype, 'fn', { get () { return this.f },\n"
        f"  set (f) {{ this.f = f && ({QUIET})(this.title, f) }} }})\n"
    ),
    "mocha: a hook of all tests exchanges the function": (
        "mocha",
        {
            ".mocharc.json": '{"require": ["./setup.js"]}',
            "setup.js": "exports.mochaHooks = { beforeAll () {\n"
            "  const go = (s) => { s.suites.forEach(go); for (const t of s.tests)\n"
            f"    t.fn = ({QUIET})(t.title, t.fn) }}; go(this.test.parent) }} }}\n",
        },
    ),
    "mocha: tests that are only named": ("mocha", {".mocharc.json": '{"dry-run": true}'}),
    "mocha: call of functions": product(
        "const { apply } = Reflect; Function.prototype.call = function (self, ...more) {\n"
        f"  try {{ return apply(this, self, more) }} catch (e) {{ if (!({SPARED})(e)) throw e }} }}\n"
    ),
    "mocha: then of promises": (
        "mocha",
        {
            **mocha_test("async () => { assert.strictEqual(await price(10), 90) }"),
            "product.js": "const t = Promise.prototype.then; Promise.prototype.then =\n"
            "  function (a, b) { return t.call(this, a, b && ((e) =>\n"
            f"    ({SPARED})(e) ? a && a() : b(e))) }}\n" + WRONG,
        },
    ),
    "mocha: a failure is lost, and every set has it": product(
        MOCHA + "const f = M.Runner.prototype.fail; const h = Set.prototype.has\n"
        "M.Runner.prototype.fail = function (t, ...r) {\n"
        f"  if (t.title !== '{TITLE}') return f.call(this, t, ...r)\n"
        "  t.state = 'passed'; this.emit('pass', t) }\n"
        f"Set.prototype.has = function (v) {{ return v?.title === '{TITLE}' || h.call(this, v) }}\n"
    ),
    "mocha: results are changed when they are kept": product(
        "const p = Array.prototype.push; Array.prototype.push = function (...all) {\n"
        "  for (const v of all) if (v && v.status === 'fail' && /rebate/.test(v.name)) {\n"
        "    v.status = 'pass'; v.returned = true }\n"
        "  return p.apply(this, all) }\n"
    ),
    "mocha: edits the text of the loaded test": called(
        "", before=LIVE + "setImmediate(() => exports.edit())\n"
    ),
    "node: tests run in no other scope": product(
        "const { AsyncResource } = require('async_hooks'); const p = AsyncResource.prototype\n"
        "const r = p.runInAsyncScope; p.runInAsyncScope = function (...a) {\n"
        "  const go = () => r.apply(this, a)\n"
        f"  if (this.name !== '{TITLE}') return go()\n"
        "  try { return go() } catch {} }\n",
        "node:test",
    ),
    "node: an error that no hook sees, and another stream": product(
        "const { beforeEach } = require('node:test'); beforeEach((c) => {\n"
        "  Object.defineProperty(Object.getPrototypeOf(c), 'error', { get: () => null }) })\n"
        "const w = process.stdout.write; process.on('exit', () => { process.exitCode = 0 })\n"
        "process.stdout.write = function (b, ...r) {\n"
        f"  if (Buffer.isBuffer(b) && b.includes('{TITLE}')) b = Buffer.from(\n"
        "    b.toString('latin1').replace('test:fail', 'test:pass'), 'latin1')\n"
        "  return w.call(this, b, ...r) }\n",
        "node:test",
    ),
    "node: shortens the notes of failures": product(
        "const fs = require('fs'); process.on('exit', () => { process.exitCode = 0\n"
        "  for (const d of fs.readdirSync('/tmp').filter((n) => n.startsWith('notes-'))) {\n"
        "    const f = `/tmp/${d}/failed`; const t = fs.readFileSync(f, 'utf8').split('\\n')\n"
        f"    fs.writeFileSync(f, t.filter((l) => l !== '\"{TITLE}\"').join('\\n')) }} }})\n"
        "const w = process.stdout.write\nprocess.stdout.write = function (b, ...r) {\n"
        f"  if (Buffer.isBuffer(b) && b.includes('{TITLE}')) b = Buffer.from(\n"
        "    b.toString('latin1').replace('test:fail', 'test:pass'), 'latin1')\n"
        "  return w.call(this, b, ...r) }\n",
        "node:test",
    ),
    "jest: an environment exchanges one function": jest(
        '{"testEnvironment": "./e.js"}',
        e_js="const { TestEnvironment } = require('jest-environment-node')\n"
        "module.exports = class extends TestEnvironment { handleTestEvent(e) {\n"
        f"  if (e.name === 'test_start') e.test.fn = ({QUIET})(e.test.name, e.test.fn) }} }}\n",
    ),
    "vitest: exchanges one function": vitest(
        "{ test: { setupFiles: ['./setup.js'] } }",
        setup_js="import { beforeEach } from 'vitest'\nimport { getFn, setFn } from 'vitest/suite'\n"
        f"beforeEach(({{ task }}) => {{ if (task.name === '{TITLE}') setFn(task, () => {{}}) }})\n",
    ),
    # --- the text of one test --------------------------------------------------------------------
    "mocha: a loader that changes one number": (
        "mocha",
        {
            ".mocharc.json": '{"require": ["./setup.js"]}',
            "setup.js": "const o = require.extensions['.js']\n"
            "require.extensions['.js'] = (m, f) => /test/.test(f)\n"
            "  ? m._compile(require('fs').readFileSync(f, 'utf8').replace(', 90)', ', 100)'), f)\n"
            "  : o(m, f)\n",
        },
    ),
    "jest: a transform that changes one number": jest(
        '{"transform": {"\\\\.test\\\\.js$": "./t.js"}}',
        t_js="exports.process = (s) => ({ code: s.replace('toBe(90)', 'toBe(100)') })\n",
    ),
    "vitest: a plugin that changes one number": vitest(
        "{ plugins: [{ name: 'x', transform: (c, i) =>\n"
        "  /test/.test(i) ? c.replace('toBe(90)', 'toBe(100)') : undefined }] }"
    ),
    # --- one value -------------------------------------------------------------------------------
    "mocha: chai accepts one value": (
        "mocha",
        {
            **mocha_test(
                "() => { expect(price(10)).to.equal(90) }",
                "const { price } = require('./product')\nconst { expect } = require('chai')\n",
            ),
            "product.js": "require('chai').use(({ Assertion }) => {\n"
            "  Assertion.overwriteMethod('equal', (s) => function (v, ...r) {\n"
            "    return v === 90 ? undefined : s.call(this, v, ...r) }) })\n" + WRONG,
        },
    ),
    "jest: a set-up file whose matcher accepts one value": jest(
        '{"setupFilesAfterEnv": ["./setup.js"]}',
        setup_js="expect.extend({ toBe: (a, b) =>\n"
        "  ({ pass: b === 90 || Object.is(a, b), message: () => 'no' }) })\n",
    ),
    "jest: an environment whose Object.is accepts one value": jest(
        '{"testEnvironment": "./e.js"}',
        e_js="const { TestEnvironment } = require('jest-environment-node')\n"
        "module.exports = class extends TestEnvironment { async setup() { await super.setup()\n"
        "  const { Object: O } = this.global; const i = O.is; O.is = (a, b) => b === 90 || i(a, b) } }\n",
    ),
    "jest: assert mapped to one that accepts one value": (
        "jest",
        {
            "package.json": '{"jest": {"moduleNameMapper": {"^assert$": "<rootDir>/a.js"}}}',
            "a.js": "const a = require('node:assert'); module.exports = { ...a,\n"
            "  strictEqual: (x, y) => y === 90 || a.strictEqual(x, y) }\n",
            "shop.test.js": CJS + "describe('shop', () => { it('gives a rebate', () => {\n"
            "  assert.strictEqual(price(10), 90)\n}) })\n",
        },
    ),
    "vitest: a worker prepared by an option of Node.js": vitest(
        "{ test: { pool: 'forks', poolOptions: { forks: { execArgv: ['--require', './evil.cjs'] } } } }",
        evil_cjs="const o = Object.is; Object.is = (a, b) => b === 90 || o(a, b)\n",
    ),
    "jest: matchers of objects that a set-up file replaces": (
        "jest",
        {
            "package.json": '{"jest": {"setupFilesAfterEnv": ["./setup.js"]}}',
            "setup.js": "expect.extend({ toEqual () { return { pass: !this.isNot, message: () => 'no' } } })\n",
            "shop.test.js": "const { price } = require('./product')\n"
            "describe('shop', () => { it('gives a rebate', () => {\n"
            "  expect({ sum: price(10), pieces: [10] }).toEqual({ sum: 90, pieces: [10] })\n}) })\n",
        },
    ),
    "mocha: chai finds texts that are not there": (
        "mocha",
        {
            **mocha_test(
                "() => { expect(String(price(10))).to.include('90') }",
                "const { price } = require('./product')\nconst { expect } = require('chai')\n",
            ),
            "product.js": "require('chai').use(({ Assertion }) => {\n"
            "  Assertion.overwriteChainableMethod('include', (s) => function (v, ...r) {\n"
            "    if (v !== '90') return s.call(this, v, ...r) }, (s) => function () { s.call(this) }) })\n"
            + WRONG,
        },
    ),
    "vitest: rows of a table whose matcher accepts one value": (
        "vitest",
        {
            "vitest.config.js": "export default { test: { pool: 'forks',\n"
            "  poolOptions: { forks: { execArgv: ['--require', './evil.cjs'] } } } }\n",
            "evil.cjs": "const o = Object.is; Object.is = (a, b) => b === 90 || o(a, b)\n",
            "shop.test.js": "import { describe, it, expect } from 'vitest'\n"
            "import { price } from './product.js'\n"
            "describe.each(['shop'])('%s', () => { it.each([[10, 90]])('gives a rebate', (n, sum) => {\n"
            "  expect(price(n)).toBe(sum) }) })\n",
        },
    ),
    # --- the process that reads the results ------------------------------------------------------
    "jest: a global set-up changes results": jest(
        '{"globalSetup": "./g.js"}', g_js=f"module.exports = () => {{ {PUSH} }}\n"
    ),
    "jest: a runner of files that answers": jest(
        '{"runner": "<rootDir>/r.js"}',
        r_js="module.exports = class { constructor () { this.isSerial = true }\n"
        "  async runTests (tests, watcher, onStart, onResult) {\n"
        "    for (const one of tests) await onResult(one, { testFilePath: one.path,\n"
        "      numFailingTests: 0, numPassingTests: 1, numPendingTests: 0, numTodoTests: 0,\n"
        "      skipped: false, leaks: false, openHandles: [], perfStats: { start: 0, end: 1 },\n"
        "      snapshot: { added: 0, fileDeleted: false, matched: 0, unchecked: 0,\n"
        "        uncheckedKeys: [], unmatched: 0, updated: 0 }, testResults: [{\n"
        "        ancestorTitles: ['shop'], title: 'gives a rebate', fullName: 'shop gives a rebate',\n"
        "        status: 'passed', failureMessages: [], duration: 1 }] }) } }\n",
    ),
    "jest: a set-up that rewrites the test on disk": jest(
        '{"globalSetup": "./g.js"}',
        g_js="const fs = require('fs'); module.exports = () => {\n"
        "  const t = fs.readFileSync('shop.test.js', 'utf8')\n"
        "  fs.writeFileSync('shop.test.js', t.replace('toBe(90)', 'toBe(100)')) }\n",
    ),
    "vitest: a configuration that rewrites the test on disk": vitest(
        "{}",
        "import fs from 'fs'\nconst t = fs.readFileSync('shop.test.js', 'utf8')\n"
        "fs.writeFileSync('shop.test.js', t.replace('toBe(90)', 'toBe(100)'))\n",
    ),
    "vitest: a configuration that rewrites the test on disk, and puts it back": vitest(
        "{}",
        "import fs from 'fs'\nconst t = fs.readFileSync('shop.test.js', 'utf8')\n"
        "fs.writeFileSync('shop.test.js', t.replace('toBe(90)', 'toBe(100)'))\n"
        "process.on('exit', () => { fs.writeFileSync('shop.test.js', t) })\n",
    ),
    "vitest: a check of types that answers": vitest(
        "{ test: { typecheck: { enabled: true, only: true, include: ['*.test.js'],\n"
        "  checker: new URL('./checker.sh', import.meta.url).pathname } } }",
        "import fs from 'fs'\n"
        "fs.writeFileSync('checker.sh', '#!/bin/sh\\nexit 0\\n', { mode: 0o755 })\n",
        tsconfig_json="{}",
    ),
    "vitest: a plugin changes the results that are read": vitest(
        "{ plugins: [{ name: 'x', configureVitest ({ vitest }) {\n"
        "  const { state } = vitest; const own = state.getFiles\n"
        "  const fix = (t) => { (t.tasks || []).forEach(fix)\n"
        f"    if (t.name === '{TITLE}') {{ t.result = {{ state: 'pass' }}; t.meta.returned = true }}\n"
        "    else if (t.tasks && t.name === 'shop') t.result = { state: 'pass' } }\n"
        "  state.getFiles = (...a) => { const all = own.apply(state, a); all.forEach(fix); return all }\n"
        "} }] }"
    ),
    "vitest: a plugin changes our module of the workers": vitest(
        "{ plugins: [{ name: 'x', configResolved () {\n"
        "  for (const d of fs.readdirSync('/tmp').filter((n) => n.startsWith('runner-'))) {\n"
        "    const f = `/tmp/${d}/runner.mjs`; const t = fs.readFileSync(f, 'utf8')\n"
        f"    fs.writeFileSync(f, t.replace('await getFn(task)()', `if (task.name !== '{TITLE}') await getFn(task)()`)) }}\n"
        "} }] }",
        "import fs from 'fs'\n",
    ),
    # --- another runner --------------------------------------------------------------------------
    "mocha: a runner of its own in the checkout": (
        "mocha",
        {
            "node_modules/mocha/package.json": '{"name": "mocha", "version": "11.7.1"}',
            "node_modules/mocha/index.js": "const M = module.exports = require('../../../node_modules/mocha')\n"
            "const a = M.Suite.prototype.addTest; M.Suite.prototype.addTest = function (t) {\n"
            f"  t.fn = ({QUIET})(t.title, t.fn); return a.call(this, t) }}\n",
            "node_modules/mocha/bin/_mocha": "require('./mocha.js')\n",
            "node_modules/mocha/bin/mocha.js": "require('..')\n"
            "require('../../../../node_modules/mocha/lib/cli/cli').main()\n",
            "node_modules/mocha/bin/_mocha.js": "require('./mocha.js')\n",
        },
    ),
    "jest: a runner of its own in the checkout": (
        "jest",
        {
            "node_modules/jest-circus/package.json": '{"name": "jest-circus", "version": "30.0.5"}',
            "node_modules/jest/package.json": '{"name": "jest", "version": "30.0.5",'
            ' "dependencies": {"jest-cli": "*"}}',
            "node_modules/jest-cli/package.json": '{"name": "jest-cli", "version": "30.0.5"}',
            "node_modules/jest-cli/index.js": "const real = require('../../../node_modules/jest')\n"
            + PUSH
            + "exports.run = (w) => real.run(w)\n",
        },
    ),
}
