'use strict'
// Control tests in a file of their own, beside the project's: what changes the text of test files,
// or what they load, changes it as well.

const fs = require('fs')
const path = require('path')

const NAME = /\.(?:test|spec)\.[cm]?[jt]sx?$/
const FOLDERS = new Set(['test', 'tests', '__tests__', 'spec'])
const SKIPPED = new Set(['node_modules', '.git', 'dist', 'build', 'coverage', 'fixtures'])
const MOST = 4000
const MOST_BYTES = 1 << 20

/** Return whether a file is named like a test, or is in a folder of tests. */
function isNamed (file) {
  const isInside = FOLDERS.has(path.basename(path.dirname(file)))
  return NAME.test(file) || (isInside && /\.[cm]?js$/.test(file))
}

/** Return the first file of a folder that looks like a test; undefined without one. */
function findTest (folder) {
  const waiting = [folder]
  for (let count = 0; waiting.length > 0 && count < MOST;) {
    const here = waiting.shift()
    let entries = []
    try {
      entries = fs.readdirSync(here, { withFileTypes: true })
    } catch (error) {
      continue
    }
    for (const entry of entries) {
      count += 1
      const place = path.join(here, entry.name)
      if (entry.isDirectory() && !SKIPPED.has(entry.name)) waiting.push(place)
      if (entry.isFile() && isNamed(place) && /\b(?:it|test)\b/.test(read(place))) return place
    }
  }
  return undefined
}

/** Return the first test among a command's files, folders and patterns; undefined without one. */
function findAmong (words) {
  for (const word of words) {
    // A pattern's fixed part: `test` of `test/**/*.js`.
    const start = /[*?{[]/.test(word) ? path.dirname(word.split(/[*?{[]/, 1)[0] + '.') : word
    const file = path.resolve(start)
    if (!fs.existsSync(file)) continue
    const found = fs.statSync(file).isDirectory() ? findTest(file) : file
    if (found !== undefined && isNamed(found)) return found
  }
  return undefined
}

/** Return a file's text; empty if it is too large or cannot be read. */
function read (file) {
  try {
    return fs.statSync(file).size > MOST_BYTES ? '' : fs.readFileSync(file, 'utf8')
  } catch (error) {
    return ''
  }
}

/** Return the text of the control tests, in the style of a neighbour. */
function write (text, names, tool) {
  const isModule = tool === 'vitest' || /^\s*import\s[^(]/m.test(text)
  // Our file passes no check of types that the project's own options may make stricter.
  const lines = ['// @ts-nocheck']
  const load = (name, module) => lines.push(isModule
    ? `import ${name === 'assert' ? '* as assert' : name} from '${module}'`
    : `const ${name} = require('${module}')`)
  let check = (value) => `expect([1, 2].length).toBe(${value})`
  let test = 'test'
  if (tool === 'vitest') load('{ test, expect }', 'vitest')
  if (tool === 'jest' && /['"]@jest\/globals['"]/.test(text)) {
    load('{ test, expect }', '@jest/globals')
  }
  const assert = /['"]((?:node:)?assert(?:\/strict)?)['"]/.exec(text)
  if (tool === 'mocha' || tool === 'node:test') {
    test = tool === 'mocha' ? 'it' : 'test'
    if (tool === 'node:test') load('{ test }', 'node:test')
    const chai = /['"]chai['"]/.test(text)
    if (chai) load('{ expect }', 'chai')
    else load('assert', assert ? assert[1] : 'assert')
    check = (value) => chai
      ? `expect([1, 2].length).to.equal(${value})`
      : `assert.strictEqual([1, 2].length, ${value})`
  } else if (assert) {
    load('assert', assert[1])
    const own = check
    check = (value) => `${own(2)}; assert.strictEqual([1, 2].length, ${value})`
  }
  names.forEach((name, number) => {
    lines.push(`${test}(${JSON.stringify(name)}, () => { ${check(number ? 3 : 2)} })`)
  })
  return lines.join('\n') + '\n'
}

/**
 * Write the file with control tests, and remove it when the process ends.
 *
 * A neighbour elsewhere may be a test for another runner, such as one of a browser.
 *
 * @param targets The files of the requested tests.
 * @param words The command's own files, folders and patterns.
 * @return Its path; undefined if no test is found to put it beside.
 */
function place (config, targets, words) {
  // Our file would change which files are in the command's share.
  if (config.args.some((word) => /^--(?:test-)?shard\b/.test(word))) return undefined
  const neighbour = targets.length > 0
    ? targets.find((file) => NAME.test(file) && fs.existsSync(file))
    : findAmong(words)
  if (neighbour === undefined) return undefined
  const base = path.basename(neighbour)
  const word = config.canaries[0].split(' ')[0] + config.seed
  const start = base.includes('.') ? base.slice(0, base.indexOf('.')) : base
  const file = path.join(path.dirname(neighbour), `${start}-${word}${base.slice(start.length)}`)
  try {
    fs.writeFileSync(file, write(read(neighbour), config.canaries, config.tool), { flag: 'wx' })
  } catch (error) {
    return undefined
  }
  const { unlinkSync } = fs
  process.on('exit', () => {
    try {
      unlinkSync(file)
    } catch (error) {
      // A test removed it.
    }
  })
  return file
}

module.exports = { place }
