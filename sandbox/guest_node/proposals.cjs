'use strict'
// Write proposals for the host.

const fs = require('fs')

const RESULTS = 3

/** Write one proposal as a line of JSON to descriptor 3. */
function writeProposal (proposal) {
  let line = Buffer.from(JSON.stringify(proposal) + '\n')
  while (line.length > 0) {
    try {
      line = line.subarray(fs.writeSync(RESULTS, line))
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error
    }
  }
}

module.exports = { writeProposal }
