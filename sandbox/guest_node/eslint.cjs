'use strict'
// Fixes of ESLint's rules, and the suggestions that `eslint --fix` leaves to a person.
//
// Called as `node eslint.cjs`, in the folder of the failing command. Standard input contains one JSON
// object: `root` (the checkout), `args` (of eslint), `findings` and `most` (proposals for each). The
// project's own ESLint runs with the same arguments and loads this file again, as its formatter, which
// writes one proposal per line, as JSON, to descriptor 3. So each version reads its own configuration.

const fs = require('fs')
const path = require('path')
const { split } = require('./options.cjs')
const { findPackage } = require('./packages.cjs')
const { writeProposal } = require('./proposals.cjs')
const { describe, inBytes } = require('./typescript/edits.cjs')

/** ESLint loads its formatter as a module of its own, perhaps a second time. */
const REQUEST = Symbol.for('metaagent.eslint.request')
const MAX_BYTES = 400000
const MAX_TEXT = 20000
const FLAGS = ['--fix', '--fix-dry-run', '--cache']
const VALUED = [
  '-f', '--format', '-o', '--output-file', '--fix-type', '--cache-file', '--cache-location',
  '--cache-strategy'
]
const COMMENTS = /\/\/[^\n]*|\/\*[\s\S]*?\*\//g
/** Text that hides a finding; no edit may add one. */
const SILENCED = /(?:\/\/|\/\*)\s*(?:eslint|tslint)\b|@ts-(?:ignore|expect-error|nocheck)|\bany\b/g
/** Code that may have an effect: a call or tag, an operator that writes, `await`, `yield`. */
const EFFECT = /[(`]|\+\+|--|\b(?:await|delete|yield)\b/
const FUNCTION = /^\s*(?:async\s+)?function\b[^{]*\{[\s\S]*\}\s*$/
/** Words of a suggestion that changes nothing but the text. */
const KEEPS = /\bmaintains the current functionality\b/
const COSTS = { fix: 0.1, suggestion: 0.3, alternative: 0.5, comment: 0.9 }

function main () {
  const request = JSON.parse(fs.readFileSync(0, 'utf8'))
  const found = findPackage('eslint')
  if (!found) return refuse('the project has no ESLint')
  globalThis[REQUEST] = request
  const args = split(request.args, [], FLAGS, VALUED).rest
  const program = path.join(found, 'bin', 'eslint.js')
  process.argv.splice(1, Infinity, program, '--format', __filename, ...args)
  require(program)
}

/** Write the offers for the findings of the request. ESLint calls this function and prints its result. */
function format (results) {
  const { root, findings, most } = globalThis[REQUEST]
  const files = readResults(fs.realpathSync(root), results)
  if (!files) refuse('ESLint answered in another form')
  findings.forEach((finding, number) => {
    const text = files && files.has(finding.path) ? readSource(root, finding.path) : undefined
    if (text === undefined) return
    const offers = files.get(finding.path).filter(message => isAbout(message, finding))
      .flatMap(message => readOffers(message, text))
    for (const offer of offers.slice(0, most)) write(number, finding.path, text, offer)
  })
  return ''
}

function refuse (reason) {
  process.stderr.write(reason + '\n')
}

/** Return the messages of each file; undefined if the results have another form. */
function readResults (root, results) {
  if (!Array.isArray(results)) return undefined
  const files = new Map()
  for (const result of results) {
    if (!result || typeof result.filePath !== 'string' || !Array.isArray(result.messages)) {
      return undefined
    }
    files.set(path.relative(root, result.filePath), result.messages.filter(Boolean))
  }
  return files
}

/** Return the text of a regular file of the checkout; symbolic links are not followed. */
function readSource (root, name) {
  const real = fs.realpathSync(root)
  const place = path.join(real, name)
  let handle
  try {
    if (fs.realpathSync(place) !== place || !place.startsWith(real + path.sep)) return undefined
    const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = fs.constants
    handle = fs.openSync(place, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    const status = fs.fstatSync(handle)
    // A byte order mark stays, so that positions are those of the file.
    return status.isFile() && status.size <= MAX_BYTES ? fs.readFileSync(handle, 'utf8') : undefined
  } catch (error) {
    return undefined
  } finally {
    if (handle !== undefined) fs.closeSync(handle)
  }
}

function isAbout (message, finding) {
  const isThere = message.line === finding.line &&
    (!finding.column || message.column === finding.column)
  // The rule is printed behind the last line of a message, so that it may not be known.
  const [first, ...more] = String(message.message).split('\n')
  const isSame = more.length > 0 && first.trim() === finding.message.trim()
  return isThere && (message.ruleId === finding.code || isSame)
}

/** Return the edits that a message offers, the likeliest first. */
function readOffers (message, text) {
  const fixes = [message.fix].map(fix => readEdit(fix, text)).filter(Boolean)
  const list = Array.isArray(message.suggestions) ? message.suggestions : []
  const suggested = list.filter(Boolean)
    .map(({ desc, fix }) => ({ edit: readEdit(fix, text), isSame: KEEPS.test(desc) }))
    .filter(({ edit }) => edit)
  const isOpen = suggested.filter(({ edit }) => !isComment(text, edit)).length > 1
  return [
    ...fixes.map(edit => ({ edit, template: 'eslint_fix', cost: COSTS.fix })),
    ...suggested.map(({ edit, isSame }, index) => ({
      edit,
      template: 'eslint_suggestion',
      cost: (isOpen && !isSame ? COSTS.alternative : COSTS.suggestion) + 0.01 * index,
      doubt: isOpen && !isSame ? 'alternatives' : undefined
    }))
  ].map(offer => withDoubt(text, offer)).sort((a, b) => a.cost - b.cost)
}

/** Return a fix of ESLint as an edit; undefined if it is none, or changes nothing. */
function readEdit (fix, text) {
  if (!fix || !Array.isArray(fix.range) || typeof fix.text !== 'string') return undefined
  // ESLint does not count a byte order mark.
  const mark = text.startsWith('\ufeff') ? 1 : 0
  const [start, end] = fix.range.map(place => place + mark)
  const isPlace = Number.isInteger(start) && Number.isInteger(end) &&
    mark <= start && start <= end && end <= text.length
  if (!isPlace || fix.text.length > MAX_TEXT) return undefined
  const old = text.slice(start, end)
  if (old === fix.text || countHiding(fix.text) > countHiding(old)) return undefined
  return withoutBlankLine(text, { start, end, text: fix.text })
}

function countHiding (text) {
  return (text.match(SILENCED) || []).length
}

/** Return a removal with the rest of its line if only white space would be left there. */
function withoutBlankLine (text, edit) {
  const start = text.lastIndexOf('\n', edit.start - 1) + 1
  const end = text.indexOf('\n', edit.end) + 1
  const left = text.slice(start, edit.start) + edit.text + text.slice(edit.end, end)
  const isBlank = end > 0 && text.slice(edit.start, edit.end).trim() !== '' && left.trim() === ''
  return isBlank ? { start, end, text: '' } : edit
}

/** Return whether an edit adds, removes or changes comments only. */
function isComment (text, edit) {
  const parts = [text.slice(edit.start, edit.end), edit.text]
  return parts.every(part => part.replace(COMMENTS, '').trim() === '') &&
    parts.some(part => part.trim() !== '')
}

function withDoubt (text, offer) {
  const { edit } = offer
  if (isComment(text, edit)) return { ...offer, cost: COSTS.comment, doubt: 'comment' }
  const removed = text.slice(edit.start, edit.end)
  if (edit.text.trim() !== '' || FUNCTION.test(removed) || !EFFECT.test(removed)) return offer
  return { ...offer, doubt: offer.doubt || 'removal' }
}

function write (finding, name, text, { edit, template, cost, doubt }) {
  const texts = { read: () => text }
  writeProposal({
    finding,
    template,
    cost,
    ...(doubt ? { doubt } : {}),
    edits: [{ path: name, ...inBytes(text, edit) }],
    description: describe(texts, [edit]).slice(0, 200)
  })
}

module.exports = format

if (require.main === module) main()
