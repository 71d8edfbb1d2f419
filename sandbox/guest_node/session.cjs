'use strict'
// What all runners share: the records of a session, from results in one common form.

const path = require('path')
const channel = require('./channel.cjs')

const TEXT = 8000
const FRAMES = 40
const ESCAPES = /\u001b\[[0-9;]*m/g
// Paths may have spaces and parentheses: `/work/repo/src/(app)/my page/x.js`.
const AT = /^\s*at (?:async )?(?:(.*?) \()?(file:\/\/)?(\/[^<>]+?):(\d+):(\d+)\)?$/
const LONGEST_FRAME = 1000
const NAMED = /^(?:Uncaught )?([A-Za-z_$][\w$.]*)(?: \[[\w.]+\])?: /
// Their tests run in processes of their own, with control tests in each file.
const PER_FILE = new Set(['jest', 'vitest'])
const PHASES = { pass: 'ppp', fail: 'pfp', skip: 's--', error: 'f--' }

/** Return a string without colours, cut to a length. */
function plain (value, most) {
  const text = typeof value === 'string' ? value : String(value)
  return text.slice(0, most).replace(ESCAPES, '')
}

/** Return a path in an address of a file without its percent signs. */
function decode (text) {
  try {
    return decodeURIComponent(text)
  } catch (failure) {
    return text
  }
}

/** Return the frames inside the checkout, outermost first: file, line, function. */
function frames (stack, root) {
  const found = []
  for (const line of stack.split('\n').slice(0, 200)) {
    const match = line.length > LONGEST_FRAME ? null : AT.exec(line)
    if (match === null || found.length >= FRAMES) continue
    const file = path.relative(root, match[2] ? decode(match[3]) : match[3])
    if (file.startsWith('..') || file.split(path.sep).includes('node_modules')) continue
    found.unshift([file, Number(match[4]), match[1] || ''])
  }
  return found
}

/** Describe an error, or its text, for a failing test. */
function describe (error, root) {
  try {
    const isObject = typeof error === 'object' && error !== null
    const stack = plain(isObject ? error.stack || error.message || '' : error, 4 * TEXT)
    const head = stack.split('\n').find((line) => line.trim() !== '') || ''
    const named = NAMED.exec(head)
    let message = isObject ? plain(error.message || '', TEXT) : ''
    if (message === '') {
      message = named ? stack.slice(stack.indexOf(named[0]) + named[0].length) : stack
    }
    message = message.split(/\n\s+at /)[0].trim()
    const ownName = isObject && typeof error.name === 'string' ? error.name : ''
    return {
      error: ownName || (named ? named[1] : 'Error'),
      message: message.slice(0, TEXT),
      text: stack.slice(0, TEXT),
      frames: frames(stack, root)
    }
  } catch (failure) {
    return { error: 'Error', message: 'the error could not be described', text: '', frames: [] }
  }
}

/** Return the files with a test that passed and without both control tests. */
function findUncontrolled (tests, canaries) {
  const files = new Map()
  for (const one of tests) {
    const file = one.name.split('::', 1)[0]
    const known = files.get(file) || { isPassed: false, controls: new Set() }
    files.set(file, known)
    // Control tests are skipped where a file has tests with `only`.
    if (canaries.includes(one.title)) known.controls.add(one.status && one.title)
    else if (one.status === 'pass' && !one.isForeign) known.isPassed = true
  }
  const isUncontrolled = ([, { isPassed, controls }]) =>
    isPassed && !canaries.every((title) => controls.has(title))
  return Array.from(files).filter(isUncontrolled).map(([file]) => file)
}

/**
 * The records of one session.
 *
 * `finish` takes the results; the exit status is recorded when the process exits.
 */
class Session {
  constructor (config) {
    this.config = config
    this.root = config.root
    this.canaries = config.canaries
    // Jest prints failures itself.
    this.isPrinting = config.tool !== 'jest'
    const send = channel.openChannel(config.key)
    config.key = ''
    Object.defineProperty(this, 'send', { value: send })
    let isFinished = false
    this.markFinished = () => { isFinished = true }
    process.on('exit', (status) => {
      if (isFinished) send(['exit', status])
    })
    send(['begin', process.version, config.tool])
  }

  /** Return a test's name: its file, relative to the checkout, and its titles. */
  name (file, titles) {
    const place = file ? path.relative(this.root, path.resolve(file)) : '.'
    return titles.length ? place + '::' + titles.join(' > ') : place
  }

  /** Print a failure, and return it for a record. */
  describe (one) {
    const detail = describe(one.error, this.root)
    if (this.isPrinting) console.log(`FAIL ${one.name}\n${detail.text}\n`)
    return detail
  }

  /** End the session because the runner cannot be used. */
  broken (why) {
    this.send(['broken', plain(why, 1000)])
  }

  /**
   * Record all results.
   *
   * @param found `tests` are objects with `name`, `title`, `status` (pass, fail, skip, error;
   *   undefined if it did not run), `ms`, `error`, `returned` (whether the test's own function
   *   returned), `isForeign` (whether it is a check of types or style, which is not a function).
   *   `broken` are files and suites that failed, with `name` and `error`. `replaced` names functions
   *   that decide how tests end and were replaced.
   * @param status The exit status that follows from them.
   */
  finish (found, status) {
    const { targets } = this.config
    // A runner reports the tests that were not asked for as skipped.
    const isAsked = (one) =>
      one.status !== 'skip' || targets.length === 0 || targets.includes(one.name)
    const tests = found.tests.filter((one) => !this.canaries.includes(one.title) && isAsked(one))
    this.send(['items', channel.packNames(tests.map((one) => one.name))])
    for (const one of found.broken) {
      this.send(['collect', one.name, this.describe(one)])
    }
    tests.forEach((one, index) => {
      if (one.status === undefined) return
      if (one.status === 'fail' || one.status === 'error') {
        this.send(['fail', index, 'call', this.describe(one)], true)
      }
      this.send(['ran', index, one.returned ? 1 : 0])
      this.send(['test', index, PHASES[one.status], Math.max(0, Math.round(one.ms || 0))])
    })
    for (const one of found.tests) {
      const number = this.canaries.indexOf(one.title)
      if (number < 0 || one.status === undefined || one.status === 'skip') continue
      this.send(['canary', number, PHASES[one.status], one.returned ? 1 : 0])
    }
    if (PER_FILE.has(this.config.tool)) {
      const files = findUncontrolled(found.tests, this.canaries)
      if (files.length > 0) this.send(['uncontrolled', files.slice(0, 20)])
    }
    const replaced = Array.from(new Set(found.replaced || []))
    if (replaced.length > 0) this.send(['patched', replaced.slice(0, 20).map(String)])
    this.send(['end', status, 0])
    process.exitCode = status
    this.markFinished()
  }
}

module.exports = { Session, describe, plain }
