'use strict'
// Control tests in the process of each file of Node's test runner.

const NAMES = process.env.METAAGENT_CONTROLS
const NOTES = process.env.METAAGENT_NOTES
delete process.env.METAAGENT_CONTROLS
delete process.env.METAAGENT_NOTES

/**
 * Note each test that fails, outside of the stream of results, which a test can rewrite.
 *
 * Also note when the file begins and ends, and its errors outside of tests: Node.js reports no
 * failure of a file that throws while it is loaded, once a test of it is registered.
 *
 * @param check Throws if the assertions of this process cannot be trusted.
 */
function takeNotes ({ beforeEach, afterEach }, names, check) {
  const { openSync, writeSync } = require('fs')
  const { stringify } = JSON
  const notes = openSync(NOTES, 'a')
  const file = process.argv[1]
  const write = (note) => writeSync(notes, stringify(note) + '\n')
  const noteError = (error) => {
    const { name, message, stack } = error instanceof Error ? error : { message: error }
    const text = (value, most) => value === undefined ? '' : String(value).slice(0, most)
    write({ file, error: { name, message: text(message, 8000), stack: text(stack, 16000) } })
  }
  let isStarted = false
  let isEnded = false
  write({ file, count: 1 })
  process.on('uncaughtExceptionMonitor', noteError)
  process.on('unhandledRejection', noteError)
  let running = 0
  beforeEach((context) => {
    isStarted = isStarted || !names.includes(context.name)
    running += 1
  })
  afterEach((context) => {
    running -= 1
    // The first versions with such hooks do not tell the error.
    if (context && context.error) write(context.name)
  })
  process.on('beforeExit', () => { isEnded = true })
  process.on('exit', (status) => {
    try {
      check()
      // A file may end the process itself, but not before or within a test and not with a failure.
      if (!isEnded && (status !== 0 || !isStarted || running > 0)) {
        throw new Error('the file ended before its last test')
      }
    } catch (error) {
      noteError(error)
    }
    write({ file, count: -1 })
  })
}

/** Register the controls before the file is loaded, and check the libraries after its last test. */
function prepare (names) {
  const runner = require('node:test')
  const assert = require('assert')
  const { control } = require('./controls.cjs')
  const { assertPlaces, seal } = require('./seals.cjs')
  const replaced = seal([...assertPlaces(), { label: 'Object.', object: Object, names: ['is'] }])
  const { strictEqual } = assert
  const check = () => {
    let isRefused = false
    try {
      control(3)
    } catch (error) {
      isRefused = true
    }
    if (!isRefused) throw new Error('an assertion accepts a wrong answer')
    if (replaced.length > 0) throw new Error(`the test machinery was replaced: ${replaced}`)
  }
  takeNotes(runner, names, check)
  runner.test(names[0], () => { control(2) })
  runner.test(names[1], () => { strictEqual([1, 2].length, 3) })
  // For a module, Node.js calls this before it loads the file; then the check at the exit counts.
  runner.after(check)
}

if (NAMES) {
  // The process of `node --test` itself hands the names on to the process of each file.
  if (process.env.NODE_TEST_CONTEXT) prepare(JSON.parse(NAMES))
  else Object.assign(process.env, { METAAGENT_CONTROLS: NAMES, METAAGENT_NOTES: NOTES })
}
