'use strict'
// Control tests in the process of each file of Node's test runner.

const NAMES = process.env.METAAGENT_CONTROLS
const NOTES = process.env.METAAGENT_NOTES
delete process.env.METAAGENT_CONTROLS
delete process.env.METAAGENT_NOTES

/** Note each test that fails, outside of the stream of results, which a test can rewrite. */
function noteFailures (afterEach) {
  const { openSync, writeSync } = require('fs')
  const { stringify } = JSON
  const notes = openSync(NOTES, 'a')
  afterEach((context) => {
    // The first versions with such hooks do not tell the error.
    if (context && context.error) writeSync(notes, stringify(context.name) + '\n')
  })
}

/** Register the controls before the file is loaded, and check the libraries after its last test. */
function prepare (names) {
  const { test, after, afterEach } = require('node:test')
  const assert = require('assert')
  const { control } = require('./controls.cjs')
  const { assertPlaces, seal } = require('./seals.cjs')
  const replaced = seal([...assertPlaces(), { label: 'Object.', object: Object, names: ['is'] }])
  const { strictEqual } = assert
  const exit = process.reallyExit
  let isEnded = false
  noteFailures(afterEach)
  test(names[0], () => { control(2) })
  test(names[1], () => { strictEqual([1, 2].length, 3) })
  after(() => {
    isEnded = true
    let isRefused = false
    try {
      control(3)
    } catch (error) {
      isRefused = true
    }
    if (!isRefused) throw new Error('an assertion accepts a wrong answer')
    if (replaced.length > 0) throw new Error(`the test machinery was replaced: ${replaced}`)
  })
  // A file that leaves before its last test must not look finished.
  process.on('exit', () => {
    if (!isEnded) process.exitCode = 1
  })
  Object.defineProperty(process, 'reallyExit', {
    value: (status) => exit.call(process, isEnded ? status : 1)
  })
}

if (NAMES) {
  // The process of `node --test` itself hands the names on to the process of each file.
  if (process.env.NODE_TEST_CONTEXT) prepare(JSON.parse(NAMES))
  else Object.assign(process.env, { METAAGENT_CONTROLS: NAMES, METAAGENT_NOTES: NOTES })
}
