'use strict'
// Jest's test runner with two control tests in each file. Jest itself never sees their results.

const path = require('path')
const { REGISTERING, assertPlaces, realmPlaces, seal } = require('./seals.cjs')

const NAMES = JSON.parse(process.env.METAAGENT_CONTROLS || '[]')
const HOME = process.env.METAAGENT_RUNNER || ''
delete process.env.METAAGENT_CONTROLS
delete process.env.METAAGENT_RUNNER

const inAssert = seal(assertPlaces())

/** Seal what decides how the tests of a file end. */
function sealRealm (environment) {
  const own = environment.global
  const state = own[Symbol.for('$$jest-matchers-object')]
  const places = realmPlaces(own).filter((one) => one.label !== '')
  if (state && state.matchers) places.push({ label: 'expect().', object: state.matchers })
  return seal(places)
}

/** Return jest's own runner. */
function loadRunner () {
  const isCircus = path.basename(HOME) === 'jest-circus'
  const file = isCircus ? path.join(HOME, 'build', 'runner.js') : HOME
  let found
  try {
    found = require(file)
  } catch (error) {
    found = require(path.join(HOME, 'runner.js'))
  }
  return found.default || found
}

/** Register the control tests after a test file is loaded. */
function addControls (environment, runtime) {
  const own = environment.global
  const globals = own.test ? own : runtime.jestGlobals || {}
  const { test } = globals
  const expect = globals.expect || own.expect
  if (!test || !expect) return
  test(NAMES[0], () => { expect([1, 2].length).toBe(2) })
  test(NAMES[1], () => { expect([1, 2].length).toBe(3) })
}

/** Note for each result whether its test returned. Tests with equal names keep their order. */
function noteReturned (results, returned) {
  const waiting = new Map()
  for (const { name, isReturned } of returned.values()) {
    waiting.set(name, [...(waiting.get(name) || []), isReturned])
  }
  for (const one of results) {
    const notes = waiting.get([...one.ancestorTitles, one.title].join('\n')) || []
    one.returned = notes.shift() === true
  }
}

/** Take the control tests out of a file's result. */
function separate (result, returned) {
  const controls = []
  if (returned !== undefined) noteReturned(result.testResults, returned)
  const isControl = (one) => NAMES.includes(one.title) && one.ancestorTitles.length === 0
  for (const one of result.testResults.filter(isControl)) {
    const isPass = one.status === 'passed'
    const status = { passed: 'pass', failed: 'fail' }[one.status] || 'skip'
    controls.push({ title: one.title, status, ms: 0, returned: isPass && one.returned !== false })
    if (isPass) result.numPassingTests -= 1
    else if (status === 'fail') result.numFailingTests -= 1
    else result.numPendingTests -= 1
  }
  const all = result.testResults
  result.testResults = all.filter((one) => !isControl(one))
  // The file of our own has nothing else, and jest wants a test in each file.
  if (all.length > NAMES.length && result.testResults.length === 0) {
    result.testResults = all.filter((one) => one.status === 'passed').slice(0, 1)
    result.numPassingTests = result.testResults.length
  }
  result.controls = controls
  const failures = result.testResults.filter((one) => one.status === 'failed')
  if (failures.length === 0 && !result.testExecError) {
    result.failureMessage = null
  } else if (result.failureMessage) {
    const parts = result.failureMessage.split(/(?=^.*● )/m)
    result.failureMessage = parts.filter((part) => !part.includes(`● ${NAMES[1]}`)).join('')
  }
  return result
}

module.exports = async function run (globalConfig, config, environment, runtime, file, send) {
  const returned = path.basename(HOME) === 'jest-circus' ? new Map() : undefined
  const own = environment.handleTestEvent
  environment.handleTestEvent = function (event, state) {
    if (event.name === 'test_start' || event.name === 'test_fn_success') {
      const titles = []
      for (let one = event.test; one && one.parent; one = one.parent) titles.unshift(one.name)
      const isReturned = event.test.failing === true || event.name === 'test_fn_success'
      // A retry keeps the test, and a map keeps its order.
      if (returned) returned.set(event.test, { name: titles.join('\n'), isReturned })
    }
    return own ? own.call(environment, event, state) : undefined
  }
  let inRealm = []
  const functions = {}
  const check = () => {
    for (const [name, value] of Object.entries(functions)) {
      if (environment.global[name] !== value) inRealm.push(name)
    }
  }
  for (const name of ['requireModule', 'unstable_importModule']) {
    const load = runtime[name]
    if (typeof load !== 'function') continue
    runtime[name] = function (from, ...more) {
      // Modules that the test file loads are required from it, with a second argument.
      const isTest = from === file && more[0] === undefined
      if (isTest) {
        inRealm = sealRealm(environment)
        for (const name of REGISTERING) functions[name] = environment.global[name]
      }
      const loaded = load.call(runtime, from, ...more)
      if (!isTest) return loaded
      if (loaded && typeof loaded.then === 'function') {
        return loaded.then((value) => {
          check()
          addControls(environment, runtime)
          return value
        })
      }
      check()
      addControls(environment, runtime)
      return loaded
    }
  }
  const result = await loadRunner()(globalConfig, config, environment, runtime, file, send)
  result.replaced = [...inAssert, ...inRealm]
  return separate(result, returned)
}
