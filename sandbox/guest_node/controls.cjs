'use strict'
// Checks of the assertion libraries in this process: a wrong answer must be refused.

const assert = require('assert')
const path = require('path')
const { findPackage } = require('./packages.cjs')

const TWO = [1, 2].length

/** Return functions that each check a value, which must be 2, with one of the libraries. */
function assertions () {
  const found = [
    (value) => assert.strictEqual(TWO, value),
    (value) => assert.deepStrictEqual([TWO], [value]),
    (value) => assert.equal(TWO, value),
    (value) => assert.ok(TWO === value),
    (value) => assert(TWO === value),
    (value) => assert.strict.equal(TWO, value)
  ]
  for (const name of ['chai', 'expect', 'should', 'expect.js']) {
    const home = findPackage(name)
    const isInside = (file) => file.startsWith(home + path.sep)
    const isLoaded = home && Object.keys(require.cache).some(isInside)
    if (!isLoaded) continue
    try {
      const library = require(home)
      const expect = library.expect || library.default || library
      if (name === 'chai') {
        found.push((value) => expect(TWO).to.equal(value))
        found.push((value) => library.assert.strictEqual(TWO, value))
      }
      if (name === 'expect') found.push((value) => expect(TWO).toBe(value))
      if (name === 'should') found.push((value) => library(TWO).equal(value))
      if (name === 'expect.js') found.push((value) => expect(TWO).to.be(value))
    } catch (error) {
      continue // a module that cannot be required has no control
    }
  }
  return found
}

/** Throw unless all libraries accept `value`; one that accepts a wrong one makes this pass. */
function control (value) {
  let error
  for (const check of assertions()) {
    let failure
    try {
      check(value)
    } catch (thrown) {
      failure = thrown || new Error('failed')
    }
    // One library that accepts a wrong answer is enough to distrust the session.
    if (value !== TWO && failure === undefined) return
    error = error || failure
  }
  if (error !== undefined) throw error
}

module.exports = { control }
