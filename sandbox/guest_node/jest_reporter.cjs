'use strict'
// Jest's reporter. It is loaded before any code of the repository, and takes one session.

const path = require('path')

let session

/** Give the session to the first reporter that jest makes. */
function begin (own) {
  session = own
}

/** Return the result of one test in the common form. */
function convert (one, file, own) {
  const skipped = { pending: 'skip', skipped: 'skip', todo: 'skip', disabled: 'skip' }
  const status = { passed: 'pass', failed: 'fail', ...skipped }
  const details = (one.failureDetails || [])[0]
  const error = details && details.stack ? details : (one.failureMessages || [])[0]
  return {
    name: own.name(file, [...one.ancestorTitles, one.title]),
    title: one.title,
    status: status[one.status],
    ms: one.duration,
    error: (one.failureMessages || [])[0] || error,
    returned: one.status === 'passed' && one.returned !== false
  }
}

class Reporter {
  constructor () {
    if (session === undefined) throw new Error('the reporter is in use')
    const own = session
    session = undefined
    const results = { tests: [], broken: [], replaced: [] }
    this.onTestResult = (test, result) => {
      const file = result.testFilePath || test.path
      // Other runners, such as one of a linter, take no control tests.
      const { runner } = (test.context && test.context.config) || {}
      const isForeign = Boolean(runner) && !/[\\/]jest-runner[\\/]/.test(runner)
      for (const one of result.testResults) {
        results.tests.push({ ...convert(one, file, own), isForeign })
      }
      for (const one of result.controls || []) {
        results.tests.push({ ...one, name: own.name(file, [one.title]) })
      }
      results.replaced.push(...(result.replaced || []))
      const message = result.testExecError || result.failureMessage
      const isEmpty = result.testResults.length === 0 && !result.skipped
      if (result.testExecError || (isEmpty && message)) {
        results.broken.push({ name: path.relative(own.root, file), error: message })
      }
    }
    this.onRunComplete = (_, total) => {
      // Jest itself decides after its reporters.
      const failures = total.numFailedTests + total.numRuntimeErrorTestSuites
      const isBad = failures > 0 || total.snapshot.failure
      own.finish(results, isBad ? 1 : 0)
    }
  }

  getLastError () {}
}

module.exports = Reporter
module.exports.begin = begin
