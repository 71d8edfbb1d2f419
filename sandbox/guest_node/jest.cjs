'use strict'
// Run jest with our reporter in this process, and our test runner around its own.

const path = require('path')
const { place } = require('./file_controls.cjs')
const { namePattern, targetFiles } = require('./names.cjs')
const { divide, split } = require('./options.cjs')
const { findBeside, findPackage, manifest } = require('./packages.cjs')

const NAMES = ['-t', '--testNamePattern']
const FLAGS = [
  '--coverage', '--collectCoverage', '--watch', '--watchAll', '--json', '-u', '--updateSnapshot',
  '--silent', '--verbose', '--ci', '--notify', '-o', '--onlyChanged'
]
const DROPPED = [
  '--reporters', '--outputFile', '--testRunner', '--coverageReporters', '--coverageDirectory',
  '--coverageThreshold', '--changedSince'
]
const VALUED = [
  '-c', '--config', '--env', '--testEnvironment', '--rootDir', '--roots', '--projects', '-w',
  '--maxWorkers', '--testTimeout', '--selectProjects', '--ignoreProjects', '--shard', '--preset',
  '--setupFiles', '--setupFilesAfterEnv', '--testMatch', '--testRegex', '--transform', '--globals',
  '--cacheDirectory', '--moduleNameMapper', '--testPathIgnorePatterns', '--resolver', '--filter',
  '--modulePathIgnorePatterns', '--testPathPattern', '--testPathPatterns', '--globalSetup',
  '--globalTeardown', '--workerIdleMemoryLimit', '--maxConcurrency'
]
const PATHS = '--runTestsByPath'

/** Return jest's arguments. */
function jestArguments (config, version) {
  const given = split(config.args, NAMES, FLAGS, DROPPED)
  const pattern = namePattern(config, given.value)
  // The list of reporters takes all words up to the next option, also the paths of the command.
  const own = [
    '--reporters=default', `--reporters=${path.join(__dirname, 'jest_reporter.cjs')}`,
    '--ci', '--coverage=false'
  ]
  const targets = targetFiles(config)
  const { options, files } = divide(given.rest, VALUED)
  const controls = place(config, targets, files)
  if (targets.length > 0) {
    own.push(...options, PATHS, ...targets)
    if (controls !== undefined) own.push(controls)
  } else {
    // A pattern of the command may leave our own file out: which words are patterns is not sure.
    own.push(...given.rest)
  }
  if (pattern) own.push(`--testNamePattern=${pattern}`)
  if (config.maxfail !== null) own.push(`--bail=${config.maxfail}`)
  if (config.order !== 'given' && version >= 29) {
    own.push('--randomize', `--seed=${config.seed + 1}`)
  }
  return own
}

/** Start jest; it ends the process itself. */
async function run (config, session) {
  const home = findPackage('jest') || findPackage('jest-cli')
  const cli = home && (path.basename(home) === 'jest-cli' ? home : findBeside(home, 'jest-cli'))
  if (!cli) {
    session.broken('jest is not installed')
    return 1
  }
  const reporter = require('./jest_reporter.cjs')
  reporter.begin(session)
  const version = Number(manifest(cli).version.split('.')[0])
  const runner = path.join(__dirname, 'jest_test_runner.cjs')
  const usual = version >= 27 ? 'jest-circus' : 'jest-jasmine2'
  // Workers inherit these names; what they are worth is decided in this process.
  process.env.METAAGENT_CONTROLS = JSON.stringify(config.canaries)
  process.env.METAAGENT_RUNNER =
    findBeside(findBeside(cli, '@jest/core') || cli, usual) ||
    findBeside(findBeside(cli, 'jest-config') || cli, usual) ||
    ''
  process.env.NODE_ENV = process.env.NODE_ENV || 'test'
  const words = [...jestArguments(config, version), `--testRunner=${runner}`]
  process.argv = [process.argv[0], path.join(home, 'bin', 'jest.js'), ...words]
  await require(cli).run(words)
  return undefined
}

module.exports = { run }
