'use strict'
// Run vitest by its own interface. Tests run in its workers, and this process reads their results.

const fs = require('fs')
const os = require('os')
const path = require('path')
const { pathToFileURL } = require('url')
const { place } = require('./file_controls.cjs')
const { namePattern, targetFiles } = require('./names.cjs')
const { findPackage, manifest, usesPackagesOnly } = require('./packages.cjs')
const { REGISTERING, seal } = require('./seals.cjs')

// Matchers of vitest that jest-extended replaces by its own of the same name.
const EXTENDED = [
  'toBeNaN', 'toBeOneOf', 'toHaveBeenCalledAfter', 'toHaveBeenCalledBefore', 'toHaveBeenCalledOnce',
  'toHaveBeenCalledExactlyOnceWith', 'toSatisfy'
]

/** Return options for a vitest without an interface to its own parser. */
function parseRoughly (words) {
  const options = {}
  const filter = []
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index]
    const match = /^--?([\w.-]+)(?:=(.*))?$/.exec(word)
    if (match === null) {
      filter.push(word)
      continue
    }
    const name = match[1].replace(/-(\w)/g, (_, letter) => letter.toUpperCase())
    const names = { t: 'testNamePattern', c: 'config', r: 'root' }
    const isFollowed = match[2] === undefined && names[name] !== undefined
    options[names[name] || name] = isFollowed ? words[(index += 1)] : match[2] || true
  }
  return { filter, options }
}

/** Write the module that each worker loads before a test file. Return its path. */
function writeRunner (home, config) {
  const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'runner-')), 'runner.mjs')
  // Vite 5 refuses addresses of files in what it loads for a browser, unless they are computed.
  const at = (name) => `[${JSON.stringify(pathToFileURL(path.join(home, 'dist', name)).href)}][0]`
  fs.writeFileSync(file, `
const vitest = await import(/* @vite-ignore */ ${at('index.js')})
const { test, expect } = vitest
let Runner = vitest.TestRunner
let getFn = Runner && Runner.getTestFn
if (!Runner || !getFn) {
  Runner = (await import(/* @vite-ignore */ ${at('runners.js')})).VitestTestRunner
  getFn = (await import(/* @vite-ignore */ ${at('suite.js')})).getFn
}
import assert from 'node:assert'
const names = ${JSON.stringify(config.canaries)}
${seal}
const replaced = [seal([
  { label: 'assert.', object: assert },
  { label: 'assert.strict.', object: assert.strict },
  { label: 'Object.', object: Object, names: ['is'] },
  { label: '', object: globalThis, names: ${JSON.stringify(REGISTERING)} }
]), []]
// Files that prepare the tests may add matchers and replace some, in parallel.
const preparing = { count: 0, get isOpen () { return this.count > 0 } }
const matchers = Object.getPrototypeOf(expect(0))
const methods = Object.getOwnPropertyNames(matchers).filter(
  (name) => typeof Object.getOwnPropertyDescriptor(matchers, name).value === 'function')
const first = methods.map((name) => matchers[name])
// Vitest itself registers some matchers again for each test with an expect of its own.
if (vitest.createExpect) vitest.createExpect()
const steady = methods.filter((name, index) => matchers[name] === first[index])
const initial = steady.map((name) => matchers[name])
let prepared
function sealMatchers () {
  prepared = steady.filter((name, index) => matchers[name] !== initial[index])
  replaced[1] = seal([{ label: 'expect().', object: matchers, names: steady }], preparing)
}
export default class extends Runner {
  async importFile (file, source) {
    if (source === 'setup') {
      preparing.count += 1
      try {
        return await super.importFile(file, source)
      } finally {
        preparing.count -= 1
      }
    }
    if (prepared === undefined) sealMatchers()
    const loaded = await super.importFile(file, source)
    if (source === 'collect') {
      test(names[0], () => { expect([1, 2].length).toBe(2) })
      test(names[1], () => { expect([1, 2].length).toBe(3) })
    }
    return loaded
  }

  async runTask (task) {
    task.meta.returned = false
    try {
      await getFn(task)()
      task.meta.returned = true
    } finally {
      if (replaced[0].length > 0 || replaced[1].length > 0) task.meta.replaced = replaced
      if (prepared.length > 0) task.meta.prepared = prepared
    }
  }
}
`)
  return file
}

/** A reporter that only passes on what tests print: the session prints the failures. */
const quiet = {
  onUserConsoleLog (log) {
    const stream = log.type === 'stderr' ? process.stderr : process.stdout
    stream.write(log.content)
  }
}

/** Return all results of a file or suite. */
function collect (task, session, titles, file, found, isWatched) {
  const errors = (task.result && task.result.errors) || []
  if (task.type === 'suite' && errors.length > 0) {
    // Its file, because a suite or hook cannot be requested by name.
    found.broken.push({ name: session.name(file, []), error: errors[0] })
  }
  for (const inner of task.tasks || []) {
    const own = [...titles, inner.name]
    if (inner.type === 'suite') {
      collect(inner, session, own, file, found, isWatched)
      continue
    }
    const result = inner.result || {}
    const isSkipped = inner.mode === 'skip' || inner.mode === 'todo' || result.state === 'skip'
    const isTyped = inner.type === 'typecheck' || (task.file || task).pool === 'typescript' ||
      (inner.meta && inner.meta.typecheck)
    const returned = isTyped || !isWatched || (inner.meta && inner.meta.returned) === true
    if (inner.meta && inner.meta.replaced) found.replaced.push(...inner.meta.replaced.flat())
    for (const name of (inner.meta && inner.meta.prepared) || []) found.prepared.add(name)
    found.tests.push({
      name: session.name(file, own),
      title: inner.name,
      status: isSkipped ? 'skip' : { pass: 'pass', fail: 'fail' }[result.state],
      ms: result.duration,
      error: (result.errors || [])[0],
      isForeign: Boolean(isTyped),
      // A test that must fail passes because its function did not return.
      returned: (inner.fails || returned) && result.state === 'pass'
    })
  }
}

/**
 * Return the matchers that code of the project replaced before the tests were loaded.
 *
 * Plug-ins do that as well: those that only packages define are theirs.
 */
function findReplaced (prepared, vitest) {
  const configs = [vitest, ...(vitest.projects || [])].map((one) => one.config || {})
  const files = configs.flatMap((config) => config.setupFiles || [])
  if (files.every(usesPackagesOnly)) return []
  return Array.from(prepared).filter((name) => !EXTENDED.includes(name))
}

/**
 * Let the servers read files outside the project, where our runner and the packages are.
 *
 * Tests with a document (`environment: 'jsdom'`) are loaded as for a browser, and a server refuses
 * to send a browser other files.
 */
function openFiles (vitest) {
  for (const one of [vitest, ...(vitest.projects || [])]) {
    const server = one.vite || one.server
    if (server && server.config) server.config.server.fs.strict = false
  }
}

/**
 * Return whether an error only says that the state of `tsc` cannot be kept beside vitest.
 *
 * Its folder is read-only here. Errors of types are others, and come without this one.
 */
function isUnkept (error, home) {
  const [start, end] = [`error TS5033: Could not write file '${home}/`, 'tsconfig.tmp.tsbuildinfo']
  const text = String((error && error.message) || '').trim()
  return text.startsWith(start) && !text.includes('\n') && text.split(`${end}'`)[0].endsWith('/')
}

/** Run the tests, and return the exit status. */
async function run (config, session) {
  const home = findPackage('vitest')
  if (home === undefined) {
    session.broken('vitest is not installed')
    return 1
  }
  const node = await import(pathToFileURL(path.join(home, 'dist', 'node.js')).href)
  const given = node.parseCLI
    ? node.parseCLI(['vitest', 'run', ...config.args])
    : parseRoughly(config.args)
  const runner = writeRunner(home, config)
  const options = {
    ...given.options,
    run: true,
    watch: false,
    update: false,
    ui: false,
    coverage: { enabled: false },
    reporters: [quiet],
    runner
  }
  const pattern = namePattern(config, options.testNamePattern || options.t)
  delete options.t
  delete options.testNamePattern
  if (pattern) options.testNamePattern = pattern
  if (config.maxfail !== null) options.bail = config.maxfail
  if (config.order !== 'given') options.sequence = { shuffle: true, seed: config.seed + 1 }
  const targets = targetFiles(config)
  const filters = targets.length > 0 ? targets : [...given.filter]
  const controls = place(config, targets, given.filter)
  if (controls !== undefined) filters.push(controls)
  process.env.TEST = 'true'
  process.env.VITEST = 'true'
  process.env.NODE_ENV = process.env.NODE_ENV || 'test'
  const vitest = await node.createVitest('test', options)
  for (const project of vitest.projects || []) project.config.runner = runner
  openFiles(vitest)
  try {
    await vitest.start(filters)
  } catch (error) {
    process.exitCode = process.exitCode || 1
    console.error(error)
  }
  const found = { tests: [], broken: [], replaced: [], prepared: new Set() }
  // The first versions send no notes of a worker with its last results.
  const isWatched = !manifest(home).version.startsWith('0.')
  for (const file of vitest.state.getFiles()) {
    collect(file, session, [], file.filepath, found, isWatched)
  }
  found.replaced.push(...findReplaced(found.prepared, vitest).map((name) => `expect().${name}`))
  // A file of ours that cannot be loaded says nothing about the project.
  const ours = controls && session.name(controls, [])
  found.broken = found.broken.filter((one) => one.name !== ours)
  const { dangerouslyIgnoreUnhandledErrors: isIgnored } = vitest.config
  const outside = !isIgnored && vitest.state.getUnhandledErrors
  for (const error of outside ? vitest.state.getUnhandledErrors() : []) {
    if (isUnkept(error, home)) continue
    const file = error && error.VITEST_TEST_PATH
    found.broken.push({ name: file ? session.name(file, []) : '(unhandled error)', error })
  }
  // The canary that must fail is the only failure of a green run.
  const isBad = found.broken.length > 0 ||
    found.tests.some((one) => one.status === 'fail' && !config.canaries.includes(one.title))
  const isEmpty = found.tests.length === 0 && !options.passWithNoTests
  const status = isBad || isEmpty ? 1 : 0
  session.finish(found, status)
  await vitest.close()
  return status
}

module.exports = { run }
