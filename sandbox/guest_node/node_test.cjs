'use strict'
// Run Node's own test runner. This process only reads: neither the runner nor a test is in it.

const { spawn } = require('child_process')
const fs = require('fs')
const os = require('os')
const path = require('path')
const { place } = require('./file_controls.cjs')
const { targetFiles, titlePattern } = require('./names.cjs')
const { divide, split } = require('./options.cjs')

const NAMES = ['--test-name-pattern']
const FLAGS = [
  '--watch', '--test', '--test-only', '--experimental-test-coverage', '--test-force-exit'
]
const DROPPED = [
  '--test-reporter', '--test-reporter-destination', '--test-isolation', '--test-rerun-failures'
]
const VALUED = [
  '-r', '--require', '--import', '--loader', '--experimental-loader', '-C', '--conditions',
  '--env-file', '--env-file-if-exists', '--test-concurrency', '--test-timeout', '--test-shard',
  '--test-skip-pattern', '--test-coverage-include', '--test-coverage-exclude',
  '--test-coverage-lines', '--test-coverage-branches', '--test-coverage-functions',
  '--test-global-setup', '--disable-warning', '--unhandled-rejections', '--input-type'
]
const EVENTS = 4
const MOST_BYTES = 32 << 20

/** Return the files of a pattern such as `dist/*.js`; Node.js before 21 knows none. */
function expand (word) {
  const [folder, name] = [path.dirname(word), path.basename(word)]
  if (!name.includes('*') || folder.includes('*') || !fs.existsSync(folder)) return [word]
  const escaped = name.split('*').map((part) => part.replace(/[.+^$]/g, '\\$&')).join('[^/]*')
  const pattern = new RegExp(`^${escaped}$`)
  const found = fs.readdirSync(folder).filter((one) => pattern.test(one)).sort()
  return found.length > 0 ? found.map((one) => path.join(folder, one)) : [word]
}

/** Collector of the runner's events. */
class Events {
  constructor (config, session, controls) {
    this.session = session
    this.controls = controls
    this.canaries = config.canaries
    this.found = { tests: [], broken: [], replaced: [] }
    this.failed = new Map()
    this.printed = new Map()
    this.broken = []
    this.titles = []
    this.isBad = false
  }

  /** Give each file that ended with an error the text that it printed, which may come late. */
  explain () {
    for (const [file, broken] of this.broken) {
      const found = /^\w*Error\b[^]*/m.exec(this.printed.get(path.resolve(file)) || '')
      if (found !== null) broken.error = found[0]
    }
  }

  /** Add an error outside of tests, unless its file is known to have failed. */
  addError (place, error) {
    const file = this.session.name(place, [])
    if (path.resolve(place) === this.controls) return
    this.isBad = true
    const isOf = (one) => one.name === file || one.name.startsWith(file + '::')
    const isKnown = this.found.broken.some(isOf) || this.found.tests.some(
      (one) => one.status === 'fail' && !this.canaries.includes(one.title) && isOf(one))
    if (!isKnown) this.found.broken.push({ name: file, error })
  }

  take (event) {
    const { type, name, nesting, file } = event
    if (typeof name !== 'string' || !Number.isInteger(nesting)) return
    if (type === 'test:stderr') {
      const place = path.resolve(file || '')
      this.printed.set(place, ((this.printed.get(place) || '') + event.text).slice(-16000))
      return
    }
    if (type === 'test:start') {
      this.titles.length = nesting
      this.titles[nesting] = name
      return
    }
    const titles = [...this.titles.slice(0, nesting), name]
    const isFailed = type === 'test:fail' && event.todo === undefined
    const isFile = path.isAbsolute(name) || (nesting === 0 && file && file.endsWith(name))
    // A file of ours that cannot be loaded says nothing about the project.
    if (isFile && this.controls && path.resolve(file || name) === this.controls) return
    if (isFailed && !this.canaries.includes(name)) this.isBad = true
    if (type === 'test:fail') this.failed.set(name, (this.failed.get(name) || 0) + 1)
    if (isFile || event.isSuite) {
      // A file or suite fails with its tests, too; then they say more.
      if (isFailed && !event.isBySubtests) {
        const place = file || name
        const broken = { name: this.session.name(place, []), error: event.error }
        if (isFile) this.broken.push([place, broken])
        this.found.broken.push(broken)
      }
      return
    }
    const isSkipped = event.skip !== undefined || event.todo !== undefined
    this.found.tests.push({
      name: this.session.name(file, titles),
      title: name,
      status: isSkipped ? 'skip' : isFailed ? 'fail' : 'pass',
      ms: event.ms,
      error: event.error,
      returned: !isFailed
    })
  }
}

/** Report what failed by the notes of the tests' own processes, but not by their results. */
function compare (events, file) {
  const noted = new Map()
  const running = new Map()
  for (const line of fs.readFileSync(file, 'utf8').split('\n').filter(Boolean)) {
    const note = JSON.parse(line)
    if (typeof note === 'string') noted.set(note, (noted.get(note) || 0) + 1)
    else if (note.error) events.addError(note.file, note.error)
    else running.set(note.file, (running.get(note.file) || 0) + note.count)
  }
  for (const [name, count] of running) {
    if (count > 0) events.addError(name, new Error('the file ended before its last test'))
  }
  for (const [name, count] of noted) {
    if (count > (events.failed.get(name) || 0)) events.found.replaced.push(`the result of ${name}`)
  }
}

/** Run the tests, and return the exit status. */
async function run (config, session) {
  const given = split(config.args, NAMES, FLAGS, DROPPED)
  const { options, files } = divide(given.rest, VALUED)
  const pattern = titlePattern(config, given.value)
  const targets = targetFiles(config)
  const controls = place(config, targets, files)
  const chosen = targets.length > 0 ? targets : files.flatMap(expand)
  if (controls !== undefined && chosen.length > 0) chosen.push(controls)
  const words = [
    '--require', path.join(__dirname, 'node_test_preload.cjs'), ...options, '--test',
    '--test-reporter', path.join(__dirname, 'node_test_reporter.cjs'),
    '--test-reporter-destination', 'stdout',
    ...(pattern ? [`--test-name-pattern=${pattern}`] : []),
    ...chosen
  ]
  const notes = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'notes-')), 'failed')
  fs.writeFileSync(notes, '')
  const controlNames = JSON.stringify(config.canaries)
  const env = { ...process.env, METAAGENT_CONTROLS: controlNames, METAAGENT_NOTES: notes }
  const child = spawn(process.execPath, words, {
    env, stdio: ['ignore', 'inherit', 'inherit', 'ignore', 'pipe']
  })
  const events = new Events(config, session, controls)
  let text = ''
  let size = 0
  child.stdio[EVENTS].setEncoding('utf8')
  child.stdio[EVENTS].on('data', (part) => {
    size += part.length
    if (size > MOST_BYTES) child.kill('SIGKILL')
    const lines = (text + part).split('\n')
    text = lines.pop()
    for (const line of lines) events.take(JSON.parse(line))
  })
  const [status, signal] = await new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, cause) => resolve([code, cause]))
  })
  if (signal !== null || status > 1) session.broken(`node --test ended with ${signal || status}`)
  compare(events, notes)
  events.explain()
  const result = events.isBad || signal !== null || status > 1 ? 1 : 0
  session.finish(events.found, result)
  return result
}

module.exports = { run }
