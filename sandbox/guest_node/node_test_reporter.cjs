'use strict'
// The reporter in `node --test`: it hands events to the process that holds the key.

const fs = require('fs')

const EVENTS = 4

/** Return an error as plain text fields. */
function plain (error) {
  const cause = error && error.cause instanceof Error ? error.cause : error
  if (typeof cause !== 'object' || cause === null) return { message: String(cause), stack: '' }
  return {
    name: String(cause.name || ''),
    message: String(cause.message || '').slice(0, 8000),
    stack: String(cause.stack || '').slice(0, 16000)
  }
}

module.exports = async function * report (source) {
  for await (const { type, data } of source) {
    if (type === 'test:stdout' || type === 'test:stderr') yield data.message
    if (type === 'test:stderr') {
      const text = String(data.message).slice(0, 8000)
      const printed = { type, name: '', nesting: 0, file: data.file, text }
      fs.writeSync(EVENTS, JSON.stringify(printed) + '\n')
    }
    if (type !== 'test:pass' && type !== 'test:fail' && type !== 'test:start') continue
    const details = data.details || {}
    const failure = details.error
    const event = {
      type,
      name: data.name,
      nesting: data.nesting,
      file: data.file,
      skip: data.skip,
      todo: data.todo,
      ms: details.duration_ms,
      isSuite: details.type === 'suite',
      isBySubtests: failure && failure.failureType === 'subtestsFailed',
      error: failure && plain(failure)
    }
    fs.writeSync(EVENTS, JSON.stringify(event) + '\n')
  }
}
