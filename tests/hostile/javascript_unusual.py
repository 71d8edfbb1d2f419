"""Unusual but honest JavaScript suites, and the verdict that they must get."""

from sandbox.types import RunVerdict
from tests.hostile.javascript_honest import Suite

SUITES: dict[str, Suite] = {
    "mocha: a child process that leaves with a status": Suite(
        "npx mocha unit/shop.test.js",
        {
            "unit/shop.test.js": "const assert = require('assert')\n"
            "const { spawnSync } = require('child_process')\n"
            "describe('the program', () => {\n"
            "  it('leaves with its status', () => {\n"
            "    const child = spawnSync(process.execPath, ['-e', 'process.exit(3)'])\n"
            "    assert.strictEqual(child.status, 3)\n  })\n"
            "  it('calls exit', () => {\n"
            "    const own = process.exit\n    let status\n"
            "    process.exit = (code) => { status = code }\n"
            "    try { process.exit(2) } finally { process.exit = own }\n"
            "    assert.equal(status, 2)\n  })\n})\n"
        },
    ),
    "mocha: parallel mode": Suite(
        "npx mocha --parallel --jobs 2 unit",
        {
            "unit/a.js": "const assert = require('assert')\n"
            "describe('a', () => {\n  let list\n  beforeEach(() => { list = [1] })\n"
            "  it('grows', () => { list.push(2); assert.deepStrictEqual(list, [1, 2]) })\n"
            "  it('is new', (done) => { setTimeout(() => { assert.deepEqual(list, [1]); done() }, 5) })\n})\n",
            "unit/b.js": "const { expect } = require('chai')\n"
            "it('has chains', () => {\n  expect([1, 2]).to.be.an('array').that.includes(2)\n"
            "  expect({ a: 1 }).to.deep.equal({ a: 1 })\n  expect(null).to.be.null\n"
            "  expect(() => { throw new TypeError('no') }).to.throw(TypeError, 'no')\n})\n",
        },
    ),
    "mocha: objects that chai compares in its own way": Suite(
        "npx mocha unit/shop.test.js",
        {
            "unit/shop.test.js": "const chai = require('chai')\n"
            "const { expect } = chai\nclass Money { constructor (n) { this.n = n } }\n"
            "chai.use(({ Assertion }) => {\n"
            "  Assertion.overwriteMethod('equal', (own) => function (other) {\n"
            "    if (!(this._obj instanceof Money)) return own.apply(this, arguments)\n"
            "    this.assert(this._obj.n === other, 'no', 'yes')\n  })\n})\n"
            "it('compares money', () => { expect(new Money(3)).to.equal(3) })\n"
        },
    ),
    "mocha: tests that need each other": Suite(
        "npx mocha unit/shop.test.js",
        {
            "unit/shop.test.js": "const assert = require('assert')\nlet count = 0\n"
            "describe('counter', function () {\n"
            "  it('starts', function () { count += 1; assert.strictEqual(count, 1) })\n"
            "  it('knows its title', function () {\n"
            "    assert.strictEqual(this.test.title, 'knows its title')\n  })\n"
            "  it('goes on', () => { assert.strictEqual(count, 1) })\n})\n"
        },
    ),
    "node: subtests, equal titles, and a todo": Suite(
        "node --test unit/shop.test.mjs",
        {
            "unit/shop.test.mjs": "import { test, describe, it, mock } from 'node:test'\n"
            "import assert from 'node:assert/strict'\n"
            "test('sums', async (t) => {\n"
            "  await t.test('small', () => { assert.equal(1 + 1, 2) })\n"
            "  await t.test('small', () => { assert.equal(2 + 2, 4) })\n})\n"
            "test('again', () => { assert.ok(true) })\ntest('again', () => { assert.ok(1) })\n"
            "test('later', { todo: true }, () => { assert.ok(false) })\n"
            "describe('mocks', () => {\n  it('counts calls', (t) => {\n"
            "    const f = t.mock.fn(() => 3)\n    assert.equal(f(), 3)\n"
            "    assert.equal(f.mock.callCount(), 1)\n  })\n"
            "  it('moves time', () => {\n    mock.timers.enable({ apis: ['setTimeout'] })\n"
            "    let done = false\n    setTimeout(() => { done = true }, 999)\n"
            "    mock.timers.tick(1000)\n    assert.equal(done, true)\n    mock.timers.reset()\n  })\n"
            "  it('takes a callback', (t, done) => { setImmediate(done) })\n"
            "  it('plans', (t) => { t.plan(1); t.assert.strictEqual(1, 1) })\n})\n"
        },
    ),
    "jest: projects, fake timers and a mocked fs": Suite(
        "npx jest",
        {
            "package.json": '{"jest": {"bail": 1, "reporters": ["default", "./r.js"], "projects": ['
            '{"displayName": "a", "testMatch": ["<rootDir>/a/*.test.js"]},'
            '{"displayName": "b", "testMatch": ["<rootDir>/b/*.test.js"]}]}}',
            "r.js": "module.exports = class { onRunComplete () { console.log('mine') } }\n",
            "a/time.test.js": "beforeEach(() => { jest.useFakeTimers() })\n"
            "afterEach(() => { jest.useRealTimers() })\n"
            "test('waits a minute', () => {\n  const f = jest.fn()\n  setTimeout(f, 60000)\n"
            "  expect(f).not.toHaveBeenCalled()\n  jest.advanceTimersByTime(60000)\n"
            "  expect(f).toHaveBeenCalledTimes(1)\n})\n",
            "b/fs.test.js": "jest.mock('fs')\nconst fs = require('fs')\n"
            "test('reads a file', () => {\n  expect.assertions(2)\n"
            "  fs.readFileSync.mockReturnValue('text')\n"
            "  expect(fs.readFileSync('x')).toBe('text')\n"
            "  expect(fs.readFileSync).toHaveBeenCalledWith('x')\n})\n"
            "test.each([1, 2])('counts %i', (n) => { expect(n).toBeGreaterThan(0) })\n"
            "test.failing('is not done', () => { expect(1).toBe(2) })\n",
        },
    ),
    "jest: snapshots": Suite(
        "npx jest --ci",
        {
            "unit/shop.test.js": "test('is drawn', () => { expect({ a: 1 }).toMatchSnapshot() })\n"
            "test('is drawn here', () => { expect('x').toMatchInlineSnapshot(`\"x\"`) })\n"
            "test('promises', async () => {\n"
            "  await expect(Promise.resolve(4)).resolves.toBe(4)\n"
            "  await expect(Promise.reject(new Error('no'))).rejects.toThrow('no')\n})\n"
            "test('promises later', () => expect(Promise.resolve(4)).resolves.toEqual(4))\n"
            "test('calls back', (done) => { setTimeout(() => { expect(1).toBe(1); done() }, 5) })\n",
            "unit/__snapshots__/shop.test.js.snap": "// Jest Snapshot v1, https://jestjs.io/docs/snapshot-testing\n\n"
            'exports[`is drawn 1`] = `\n{\n  "a": 1,\n}\n`;\n',
        },
    ),
    "jest: a file that reads itself, and a retry": Suite(
        "npx jest",
        {
            "shop.test.js": "jest.retryTimes(2)\nlet runs = 0\n"
            "test('knows its file', () => {\n"
            "  expect(require('fs').readFileSync(__filename, 'utf8')).toContain('knows its file')\n})\n"
            "test('is green the second time', () => { runs += 1; expect(runs % 2).toBe(0) })\n"
            "test('has a state', () => {\n"
            "  expect(expect.getState().currentTestName).toBe('has a state')\n})\n",
        },
    ),
    "vitest: projects of a workspace": Suite(
        "npx vitest run",
        {
            "vitest.config.mjs": "export default { test: { retry: 1, bail: 1, reporters: ['default'],\n"
            "  projects: [{ test: { name: 'a', include: ['a/*.test.mjs'] } },\n"
            "    { test: { name: 'b', include: ['b/*.test.ts'], pool: 'threads' } }] } }\n",
            "a/shop.test.mjs": "import { test, expect, vi, describe } from 'vitest'\n"
            "vi.mock('fs', () => ({ default: { readFileSync: () => 'text' } }))\n"
            "import fs from 'fs'\n"
            "describe('files', () => {\n"
            "  test('reads', () => { expect(fs.readFileSync('x')).toBe('text') })\n"
            "  test('waits', () => {\n    vi.useFakeTimers()\n    const f = vi.fn()\n"
            "    setTimeout(f, 1000)\n    vi.advanceTimersByTime(1000)\n"
            "    expect(f).toHaveBeenCalledOnce()\n    vi.useRealTimers()\n  })\n"
            "  test.fails('fails', () => { expect(1).toBe(2) })\n})\n",
            "b/shop.test.ts": "import { it, expect } from 'vitest'\n"
            "const price: (n: number) => number = (n) => n * 2\n"
            "it('is typed', ({ task }) => { expect<number>(price(2)).toBe(4 as number); expect(task.name).toBe('is typed') })\n"
            "it.concurrent('runs beside', async ({ expect }) => { expect(price(1)).toStrictEqual(2) })\n"
            "it.for([1, 2])('counts %i', (n, { expect }) => { expect(n).toBeLessThan(3) })\n"
            "it.skipIf(false)('has a condition', () => { expect(price(3)).not.toBe(7) })\n",
        },
    ),
    "vitest: snapshots and soft assertions": Suite(
        "npx vitest run",
        {
            "shop.test.mjs": "import { test, expect } from 'vitest'\n"
            "test('is drawn', () => { expect({ a: 1 }).toMatchSnapshot() })\n"
            "test('is soft', () => { expect.soft(1).toBe(1); expect([1, 'ab']).toEqual([1, 'ab']) })\n"
            "test('polls', async () => { let n = 0; await expect.poll(() => (n += 1)).toBe(3) })\n"
            "test('has text', () => {\n  const s = 'a' + 'b'\n  expect(s, 'a message').to.equal('ab')\n"
            "  expect(NaN).toBe(NaN)\n  expect(-0).toBe(-0)\n  expect(new String('x')).toEqual(new String('x'))\n})\n",
            "__snapshots__/shop.test.mjs.snap": "// Vitest Snapshot v1, https://vitest.dev/guide/snapshot.html\n\n"
            'exports[`is drawn 1`] = `\n{\n  "a": 1,\n}\n`;\n',
        },
    ),
    "mocha: assertions of many kinds": Suite(
        "npx mocha unit/shop.test.js",
        {
            "unit/shop.test.js": "const assert = require('assert')\nconst chai = require('chai')\n"
            "const { strictEqual, throws } = assert\nconst { expect } = chai\n"
            "chai.use(({ Assertion }) => { for (const name of ['equal', 'eql']) {\n"
            "  Assertion.overwriteMethod(name, (own) => function (other) {\n"
            "    if (typeof other !== 'number') return own.apply(this, arguments)\n"
            "    this.assert(Math.abs(this._obj - other) < 1e-6, 'no', 'yes') }) } })\n"
            "class Cart { constructor (list) { this.list = list } }\n"
            "const ring = { a: 1 }\nring.ring = ring\n"
            "describe('many', () => {\n"
            "  it('compares', () => {\n    expect(0.1 + 0.2).to.equal(0.3)\n"
            "    expect([0.1 + 0.2]).to.deep.equal([0.1 + 0.2])\n"
            "    assert.deepStrictEqual(new Cart([1]), new Cart([1]))\n"
            "    assert.deepEqual(ring, ring)\n    assert.deepEqual({ a: '1' }, { a: 1 })\n"
            "    assert.deepStrictEqual(new Map([[1, 2]]), new Map([[1, 2]]))\n"
            "    expect(new Set([1])).to.have.lengthOf(1)\n    expect([1, 2]).to.include(2)\n"
            "    expect([{ a: 1 }]).to.deep.include({ a: 1 })\n    expect({ a: 1, b: 2 }).to.include({ a: 1 })\n"
            "    expect(new Cart()).to.be.an.instanceof(Cart)\n    expect(3).to.be.above(2)\n  })\n"
            "  it('throws', () => {\n    throws(() => { throw new TypeError('no') }, TypeError)\n"
            "    assert.throws(() => { null.x() }, { name: 'TypeError' })\n"
            "    expect(() => { throw new Error('no') }).to.throw('no')\n"
            "    expect(() => {}).to.not.throw()\n    assert.match('abc', /B/i)\n    strictEqual(NaN, NaN)\n  })\n"
            "  it('rejects', async () => {\n    await assert.rejects(Promise.reject(new Error('x')), /x/)\n"
            "    const f = async () => { throw new Error('y') }\n    await assert.rejects(f)\n  })\n"
            "  it('promises', () => Promise.resolve(1).then((one) => { assert.equal(one, 1) }))\n})\n"
        },
    ),
    "jest: tables and matchers of many kinds": Suite(
        "npx jest",
        {
            "shop.test.js": "class Cart { constructor () { this.list = [1] } }\n"
            "describe.each([['a', 1], ['b', 2]])('cart %s', (name, count) => {\n"
            "  test.each`\n  sum | two\n  ${1} | ${2}\n  ${2} | ${3}\n  `('adds $sum to $two', ({ sum, two }) => {\n"
            "    expect(sum + 1).toBe(two)\n    expect([sum, count]).toHaveLength(2)\n  })\n"
            "  it('has a name', () => { expect(name).toMatch(/a|b/g) })\n})\n"
            "test('has matchers', () => {\n  const f = jest.fn(() => 1)\n  f(1)\n"
            "  expect(new Cart()).toEqual({ list: [1] })\n"
            "  expect({ a: undefined, b: 1 }).toEqual({ b: 1 })\n"
            "  expect({ a: new Date(0), b: [1, 2], c: 'x' }).toEqual({ a: expect.any(Date),\n"
            "    b: expect.arrayContaining([2]), c: expect.anything() })\n"
            "  expect({ a: 1, b: { c: 2, d: 3 } }).toMatchObject({ b: { c: 2 } })\n"
            "  expect(f).toHaveBeenCalledTimes(1)\n  expect(f).toHaveBeenCalledWith(1)\n"
            "  expect(f.mock.calls).toEqual([[1]])\n  expect('abc').toContain('b')\n"
            "  expect(new Set([1])).toContain(1)\n  expect([{ a: 1 }]).toContainEqual({ a: 1 })\n"
            "  expect(new Error('no')).toBeInstanceOf(Error)\n  expect(0.1 + 0.2).toBeCloseTo(0.3)\n"
            "  expect(() => { throw new Error('no') }).toThrow(/no/)\n  expect(0).not.toBe(-0)\n"
            "  expect({ a: { b: 1 } }).toHaveProperty('a.b', 1)\n  expect(undefined).toBeUndefined()\n"
            "  expect(null).toBeNull()\n  expect(2).toBeGreaterThan(1)\n  expect('').toBeFalsy()\n})\n"
        },
    ),
    "vitest: an error outside of tests that its configuration ignores": Suite(
        "npx vitest run",
        {
            "vitest.config.mjs": "export default { test: { dangerouslyIgnoreUnhandledErrors: true } }\n",
            "shop.test.mjs": "import { test, expect } from 'vitest'\n"
            "test('adds', () => { expect(1 + 1).toBe(2) })\n"
            "test('leaves a promise', async () => {\n  Promise.reject(new Error('late'))\n"
            "  await new Promise((resolve) => setTimeout(resolve, 20))\n})\n",
        },
    ),
    "vitest: an error outside of tests": Suite(
        "npx vitest run",
        {
            "shop.test.mjs": "import { test } from 'vitest'\ntest('leaves a promise', async () => {\n"
            "  Promise.reject(new Error('late'))\n"
            "  await new Promise((resolve) => setTimeout(resolve, 20))\n})\n",
        },
        RunVerdict.FAIL,
    ),
    "vitest: a red test among equal titles": Suite(
        "npx vitest run",
        {
            "shop.test.mjs": "import { test, expect } from 'vitest'\n"
            "test('adds', () => { expect(1 + 1).toBe(2) })\n"
            "test('adds', () => { expect(1 + 1).toBe(3) })\n"
        },
        RunVerdict.FAIL,
    ),
}
