'use strict'
// Start a test runner inside the sandbox, with our reporter, before any code of the repository.
//
// Standard input contains one JSON object: `key` (hex, signs the records), `tool`, `args`,
// `targets` (names that replace the selection), `order`, `seed`, `maxfail`, `root` (the checkout),
// `canaries` (two names). Records are written to file descriptor 3.

const { readConfig } = require('./channel.cjs')
const { imitateNpm } = require('./packages.cjs')
const { split } = require('./options.cjs')
const { Session } = require('./session.cjs')

const SHARDS = ['--shard', '--test-shard']
const TOOLS = {
  vitest: () => require('./vitest.cjs'),
  jest: () => require('./jest.cjs'),
  mocha: () => require('./mocha.cjs'),
  'node:test': () => require('./node_test.cjs')
}

async function main () {
  const config = readConfig()
  // A share of the files may leave out those of the requested tests.
  if (config.targets.length > 0) config.args = split(config.args, [], [], SHARDS).rest
  imitateNpm()
  const session = new Session(config)
  try {
    const status = await TOOLS[config.tool]().run(config, session)
    // Open handles of the tests must not keep the process alive.
    if (status !== undefined) process.exit(status)
  } catch (error) {
    console.error(error)
    session.broken(`${config.tool} could not be started: ${error && error.message}`)
    process.exit(1)
  }
}

main()
