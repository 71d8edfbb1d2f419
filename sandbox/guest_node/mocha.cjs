'use strict'
// Run mocha in this process. Its tests share it, so that only witnesses and controls tell more
// than an exit status.

const fs = require('fs')
const Module = require('module')
const path = require('path')
const { setTimeout: later } = require('timers')
const { pathToFileURL } = require('url')
const v8 = require('v8')
const vm = require('vm')
const { control } = require('./controls.cjs')
const { place } = require('./file_controls.cjs')
const { namePattern, targetFiles } = require('./names.cjs')
const { divide, split } = require('./options.cjs')
const { findPackage, manifest } = require('./packages.cjs')
const { assertPlaces, realmPlaces, seal } = require('./seals.cjs')

const FLAGS = ['-w', '--watch', '-p', '--parallel', '-C', '--color', '--colors', '-b', '--bail']
const DROPPED = [
  '-R', '--reporter', '-O', '--reporter-option', '--reporter-options', '-j', '--jobs'
]
const VALUED = [
  '-r', '--require', '--import', '--config', '--package', '--opts', '-t', '--timeout', '-s',
  '--slow', '-u', '--ui', '--extension', '--ignore', '--exclude', '--file', '--spec', '--retries',
  '--node-option', '-g', '--grep', '-f', '--fgrep'
]

/** Time to close what tests left open after a red run, in milliseconds. */
const CLOSING_MS = 3000

/** Wrap all test functions: a test that passes must have returned. */
function watch (suite, returned) {
  for (const test of suite.tests) {
    const own = test.fn
    if (typeof own !== 'function') continue
    if (own.length > 0) {
      test.fn = function (done) {
        return own.call(this, Object.assign((error) => {
          if (!error) returned.add(test)
          done(error)
        }, done))
      }
      continue
    }
    test.fn = function () {
      const value = own.call(this)
      if (value && typeof value.then === 'function') {
        return value.then((result) => {
          returned.add(test)
          return result
        })
      }
      returned.add(test)
      return value
    }
  }
  for (const inner of suite.suites) watch(inner, returned)
}

/** Return the titles of a test or hook, without the root's. */
function titles (runnable) {
  return runnable.titlePath().filter((title) => title !== '')
}

/** Keep the tests that mocha's retries copy. Return the function that finds a copy's original. */
function followCopies (Mocha) {
  const originals = new WeakMap()
  const find = (test) => originals.get(test) || test
  const { clone } = Mocha.Test.prototype
  Mocha.Test.prototype.clone = function () {
    const copy = clone.call(this)
    originals.set(copy, find(this))
    return copy
  }
  return find
}

/** Return mocha's reporter, which only collects. */
function makeReporter (session, found, hasReturned, { prepare, finish }) {
  const add = (test, status, error) => {
    found.tests.push({
      name: session.name(test.file, titles(test)),
      title: test.title,
      status,
      ms: test.duration,
      error,
      returned: hasReturned(test)
    })
  }
  return class {
    constructor (runner) {
      prepare(runner.suite)
      runner.on('pass', (test) => add(test, 'pass'))
      runner.on('pending', (test) => add(test, 'skip'))
      runner.on('fail', (one, error) => {
        // The file of a hook, because a hook cannot be requested by name.
        if (one.type === 'hook') found.broken.push({ name: session.name(one.file, []), error })
        else add(one, 'fail', error)
      })
      runner.on('end', finish)
    }
  }
}

/** Seal what decides how tests end. Mocha itself sets its globals before each file. */
function sealAll (Mocha) {
  const gate = { isOpen: false }
  const own = Mocha.Suite.prototype.emit
  const replaced = [seal(assertPlaces(), gate)]
  let isSealed = false
  Mocha.Suite.prototype.emit = function (event, ...given) {
    if (event !== 'pre-require') return own.call(this, event, ...given)
    gate.isOpen = true
    try {
      return own.call(this, event, ...given)
    } finally {
      gate.isOpen = false
      if (!isSealed) replaced.push(seal(realmPlaces(globalThis), gate))
      isSealed = true
    }
  }
  return () => replaced.flat()
}

/** Select the requested tests and the canaries instead of what the command and its files select. */
function select (options, config) {
  const own = options.grep
  const inverted = own && options.invert ? `^(?![^]*(?:${own.source}))` : undefined
  const pattern = namePattern(config, inverted || (own && own.source))
  options.grep = pattern ? new RegExp(pattern, own && own.ignoreCase ? 'i' : '') : undefined
  options.invert = false
}

/** Give tests the garbage collector, as the option of Node.js does. */
function exposeGc () {
  v8.setFlagsFromString('--expose-gc')
  globalThis.gc = vm.runInNewContext('gc')
}

/**
 * Do what mocha asks of Node.js before it starts, in this process and after our own code.
 *
 * Mocha would start another Node.js with these options, which would load the repository's code
 * before ours. Options that only change how Node.js works are left out.
 */
async function applyNodeOptions (home, args) {
  let options
  let isNodeFlag
  try {
    options = require(path.join(home, 'lib', 'cli', 'options')).loadOptions(args)
    isNodeFlag = require(path.join(home, 'lib', 'cli', 'node-flags')).isNodeFlag
  } catch (error) {
    return // Mocha before 6 has no such files, and mocha itself reports a wrong option.
  }
  const given = [].concat(options['node-option'] || [])
  const pairs = given.length > 0
    ? given.map((one) => [one.split('=', 1)[0], one.slice(one.indexOf('=') + 1)])
    : Object.keys(options).filter((name) => isNodeFlag(name)).map((name) => [name, options[name]])
  const file = path.join(process.cwd(), 'mocha-options.js')
  const importer = new Module(file)
  // Names of packages are resolved from the file that imports them.
  importer._compile('module.exports = (name) => import(name)', file)
  for (const [name, value] of pairs) {
    for (const one of [].concat(value)) {
      if (name === 'import') await importer.exports(String(one))
      else if (name === 'require') Module.createRequire(file)(String(one))
      else if (/^(?:experimental-)?loader$/.test(name)) Module.register(one, pathToFileURL(file))
      else if (name === 'expose-gc') exposeGc()
      else if (name === 'enable-source-maps') process.setSourceMapsEnabled(true)
    }
  }
}

/** Start mocha; it ends the process itself. */
async function run (config, session) {
  const home = findPackage('mocha')
  if (home === undefined) {
    session.broken('mocha is not installed')
    return 1
  }
  const Mocha = require(home)
  const findReplaced = sealAll(Mocha)
  const given = split(config.args, [], FLAGS, DROPPED)
  const found = { tests: [], broken: [] }
  const returned = new Set()
  const findOriginal = followCopies(Mocha)
  const hasReturned = (test) => returned.has(findOriginal(test))
  const start = Mocha.prototype.run
  const isBad = () => found.broken.length > 0 || found.tests.some(
    (one) => one.status === 'fail' && !config.canaries.includes(one.title))
  const finish = () => session.finish({ ...found, replaced: findReplaced() }, isBad() ? 1 : 0)
  // All files are loaded when mocha makes its reporter.
  const prepare = (root) => {
    if (config.order !== 'given') root.suites.reverse() // mocha has no random order
    const suite = Mocha.Suite.create(root, '')
    config.canaries.forEach((name, number) => {
      suite.addTest(new Mocha.Test(name, () => {
        control(number ? 3 : 2)
      }))
    })
    watch(root, returned)
  }
  Mocha.prototype.run = function (end) {
    select(this.options, config)
    this.reporter(makeReporter(session, found, hasReturned, { prepare, finish }))
    return start.call(this, (failures) => {
      if (end) end(isBad() ? 1 : 0)
      // A failed test often leaves a server open, and mocha would wait for it until the time limit.
      if (isBad()) later(() => process.exit(1), CLOSING_MS).unref()
    })
  }
  const targets = targetFiles(config)
  const { options, files } = divide(given.rest, VALUED)
  const { rest: own, values: specs } = split(options, ['--spec'], [])
  const words = targets.length > 0 ? [...own, ...targets] : [...given.rest]
  const controls = place(config, targets, [...files, ...specs])
  if (controls !== undefined) words.push(controls)
  const isParallel = Number(manifest(home).version.split('.')[0]) >= 8
  const first = ['--full-trace']
  if (isParallel) first.push('--no-parallel')
  if (config.maxfail === 1) first.push('--bail')
  if (config.maxfail === 0) first.push('--no-bail')
  const programs = ['bin/_mocha', 'bin/_mocha.js'].map((name) => path.join(home, name))
  const program = programs.find(fs.existsSync)
  await applyNodeOptions(home, config.args)
  process.argv = [process.argv[0], program, ...first, ...words]
  require(program)
  return undefined
}

module.exports = { run }
