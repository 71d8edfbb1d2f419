'use strict'
// Control tests in each file of Node's test runner, beside the first test of the file.

const NAMES = process.env.METAAGENT_CONTROLS
delete process.env.METAAGENT_CONTROLS

/** Register the controls with the first test, when the file's imports are loaded. */
function prepare (names) {
  const nodeTest = require('node:test')
  const { syncBuiltinESMExports } = require('module')
  const assert = require('assert')
  const strictEqual = assert.strictEqual
  const { test, after } = nodeTest
  const exit = process.reallyExit
  let isStarted = false
  let isEnded = false
  const begin = () => {
    if (isStarted) return
    isStarted = true
    for (const [number, name] of names.entries()) {
      test(name, () => {
        assert.strictEqual([1, 2].length, number ? 3 : 2)
        assert.deepStrictEqual([[1, 2].length], [number ? 3 : 2])
        assert([1, 2].length === (number ? 3 : 2))
      })
    }
    after(() => {
      isEnded = true
      for (const check of [(value) => assert.strictEqual(1, value), (value) => assert(value === 1)]) {
        let isWrong = true
        try {
          check(2)
        } catch (error) {
          isWrong = false
        }
        if (isWrong || assert.strictEqual !== strictEqual) throw new Error('assert was replaced')
      }
    })
  }
  const wrap = (own) => {
    if (typeof own !== 'function') return own
    const wrapped = function (...given) {
      begin()
      return own.apply(this, given)
    }
    for (const key of Reflect.ownKeys(own)) {
      if (key === 'length' || key === 'name' || key === 'prototype') continue
      const value = own[key]
      wrapped[key] = ['skip', 'todo', 'only'].includes(key) ? wrap(value) : value
    }
    return wrapped
  }
  for (const name of ['test', 'it', 'describe', 'suite']) {
    const value = nodeTest[name]
    if (value !== undefined && value !== nodeTest) nodeTest[name] = wrap(value)
  }
  syncBuiltinESMExports()
  // A file that leaves before its last test must not look finished.
  process.on('exit', () => {
    if (isStarted && !isEnded) process.exitCode = 1
  })
  process.reallyExit = (status) => exit.call(process, isStarted && !isEnded ? 1 : status)
}

if (NAMES) {
  // The process of `node --test` itself hands the names on to the process of each file.
  if (process.env.NODE_TEST_CONTEXT) prepare(JSON.parse(NAMES))
  else process.env.METAAGENT_CONTROLS = NAMES
}
