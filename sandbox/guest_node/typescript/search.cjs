'use strict'
// Try candidates in the warm language services, and group what passes by its cause.

const path = require('path')
const { applyAll } = require('./edits.cjs')
const { Place } = require('./place.cjs')

const SOURCES = [
  require('./templates/code_fix.cjs'),
  require('./templates/ts_name.cjs'),
  require('./templates/ts_value.cjs'),
  require('./templates/ts_call.cjs'),
  require('./templates/ts_object.cjs'),
  require('./templates/ts_declaration.cjs'),
  require('./templates/ts_guard.cjs'),
  require('./templates/ts_import.cjs')
]
/** Maximum number of candidates tried for one finding. */
const PER_FINDING = 160
/** Number of passing candidates for one finding after which no more are tried. */
const ENOUGH = 24
/** Additional cost for the share of errors that an edit leaves and the best one removes. */
const PARTIAL = 0.8
/** Additional cost of all edits if the best one is not clearly better than the next one. */
const RIVALS = 0.2
/** Minimum difference in cost between an edit and a clearly better one. */
const CLEAR = 0.08
/** Lower cost of an edit that uses a name without a use, and higher cost of one that leaves one more. */
const USED = 0.15
/** Codes of names without a use. */
const UNUSED = [6133, 6138, 6192, 6196, 6198]

/**
 * Yield proposals for findings, each checked against all files of the program.
 *
 * If only clear ones are asked for, dearer edits than one that removes all errors are not tried.
 */
function * search (workspace, request, mayGoOn) {
  const before = workspace.check()
  const isQuick = Boolean(request.only_clear)
  const state = { workspace, before, counts: countKeys(before), refused: new Set(), unused: new Map(), isQuick }
  const leads = matchFindings(workspace, before, request.findings)
  const covered = new Set()
  for (const lead of leads) {
    if (!mayGoOn()) return
    if (covered.has(lead.key)) continue
    const { passing, isClear } = tryAll(state, lead, mayGoOn)
    for (const proposal of rank(passing, lead)) {
      yield { ...proposal, finding: lead.finding, isClear }
    }
    const best = Math.max(0, ...passing.map(total))
    for (const one of passing) {
      if (total(one) < best) continue
      for (const [key, count] of one.removed) {
        if (count === state.counts.get(key)) covered.add(key)
      }
    }
  }
}

/** Return how many diagnostics a candidate removes. */
function total (candidate) {
  return [...candidate.removed.values()].reduce((sum, count) => sum + count, 0)
}

function countKeys (found) {
  const counts = new Map()
  for (const { key } of found) {
    counts.set(key, (counts.get(key) || 0) + 1)
  }
  return counts
}

/** Return the diagnostics that findings report, in the order of the findings. */
function matchFindings (workspace, before, findings) {
  const leads = []
  findings.forEach((finding, number) => {
    const found = before.find(({ diagnostic }) => {
      const place = diagnostic.file.getLineAndCharacterOfPosition(diagnostic.start)
      return path.relative(workspace.root, diagnostic.file.fileName) === finding.path &&
        place.line + 1 === finding.line && `TS${diagnostic.code}` === finding.code &&
        (!finding.column || place.character + 1 === finding.column)
    })
    if (found) leads.push({ ...found, finding: number })
  })
  return leads
}

/** Return the candidates with which a diagnostic is gone and none is new, the cheapest first. */
function tryAll (state, lead, mayGoOn) {
  const passing = []
  let isClear = false
  for (const candidate of drafts(state.workspace, lead)) {
    if (!mayGoOn() || passing.length >= ENOUGH) break
    // A dearer edit may still become cheaper by the names that it uses.
    const least = candidate.cost - (hasUnused(state, lead, passing) ? USED : 0)
    isClear = state.isQuick && passing.some(one =>
      total(one) === state.before.length && least - one.cost >= CLEAR)
    if (isClear) break
    const removed = evaluate(state, candidate, lead)
    if (!removed || !removed.has(lead.key)) continue
    const cost = candidate.cost + USED * countLost(state, lead, candidate)
    passing.push({ ...candidate, cost, removed })
  }
  state.workspace.texts.change(new Map())
  return { passing, isClear }
}

/** Return the cheapest candidates, one for each resulting text. */
function drafts (workspace, lead) {
  const place = new Place(workspace, lead.service, lead.diagnostic)
  const found = new Map()
  for (const source of SOURCES) {
    for (const draft of takeDrafts(source, place)) {
      const edits = draft.edits.filter(edit => workspace.isOwn(edit.file))
      if (!edits.length || edits.length !== draft.edits.length) continue
      const texts = applyAll(workspace.texts, edits)
      if (!texts) continue
      const key = JSON.stringify([...texts])
      if (!found.has(key) || found.get(key).cost > draft.cost) {
        found.set(key, { cost: draft.cost, edits, texts, key, template: source.NAME })
      }
    }
  }
  return [...found.values()].sort((a, b) => a.cost - b.cost).slice(0, PER_FINDING)
}

function takeDrafts (source, place) {
  try {
    return [...source.propose(place)]
  } catch (error) {
    // Versions of TypeScript differ; another template may still work.
    return []
  }
}

/** Return how many of each key a candidate removes; undefined if it adds one or hides something. */
function evaluate (state, candidate, lead) {
  if (state.refused.has(candidate.key)) return undefined
  state.workspace.texts.change(candidate.texts)
  const near = new Set([lead.diagnostic.file.fileName, ...candidate.texts.keys()])
  // Most candidates fail where they are made, which is cheaper to see.
  let removed = compare(state, near)
  if (removed && removed.has(lead.key)) {
    removed = hidesMore(state.workspace, candidate.texts) ? undefined : compare(state)
  }
  if (!removed) state.refused.add(candidate.key)
  return removed
}

/** Return whether the files that passing candidates change have names without a use. */
function hasUnused (state, lead, passing) {
  const files = new Set(passing.flatMap(one => [...one.texts.keys()]))
  return [...files].some(file => unusedBefore(state, lead, file) > 0)
}

/** Return how many names lose their use by a candidate, from -1 to 1. */
function countLost (state, lead, { texts }) {
  const files = [...texts.keys()]
  const before = files.map(file => unusedBefore(state, lead, file))
  state.workspace.texts.change(texts)
  const lost = files.reduce((sum, file, at) => sum + countUnused(lead.service, file) - before[at], 0)
  return Math.max(-1, Math.min(1, lost))
}

/** Return how many names of a file have no use without any candidate. */
function unusedBefore ({ unused, workspace }, lead, file) {
  if (!unused.has(file)) {
    workspace.texts.change(new Map())
    unused.set(file, countUnused(lead.service, file))
  }
  return unused.get(file)
}

/** Return how many imports, variables, parameters and private members of a file have no use. */
function countUnused (service, file) {
  const found = [...service.getSuggestionDiagnostics(file), ...service.getSemanticDiagnostics(file)]
  return found.filter(one => UNUSED.includes(one.code)).length
}

function compare (state, only) {
  const after = countKeys(state.workspace.check(only))
  const removed = new Map()
  for (const [key, count] of after) {
    if (count > (state.counts.get(key) || 0)) return undefined
  }
  for (const { diagnostic, key } of state.before) {
    const isSeen = !only || only.has(diagnostic.file.fileName)
    const gone = state.counts.get(key) - (after.get(key) || 0)
    if (isSeen && gone > 0) removed.set(key, gone)
  }
  return removed
}

/** Return whether changed texts hide more errors than the original ones. */
function hidesMore ({ ts, texts }, changed) {
  let added = 0
  for (const [file, text] of changed) {
    added += countHiding(ts, file, text) - countHiding(ts, file, texts.original(file))
  }
  return added > 0
}

/** Count what hides errors in a text: `any`, type assertions, `!`, comments for the compiler. */
function countHiding (ts, file, text) {
  let total = (text.match(/@ts-(?:ignore|expect-error|nocheck)/g) || []).length
  const visit = node => {
    const isConst = ts.isAsExpression(node) && node.type.getText() === 'const'
    const hides = node.kind === ts.SyntaxKind.AnyKeyword || ts.isNonNullExpression(node) ||
      ((ts.isAsExpression(node) || ts.isTypeAssertionExpression(node)) && !isConst) ||
      node.exclamationToken
    if (hides) total += 1
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true))
  return total
}

/** Return passing candidates with costs that rank them, best first. */
function rank (passing, lead) {
  const most = Math.max(1, ...passing.map(total))
  const costs = passing.map(one => one.cost + PARTIAL * (1 - total(one) / most))
  const sorted = [...costs].sort((a, b) => a - b)
  const doubt = sorted.length > 1 && sorted[1] - sorted[0] < CLEAR ? RIVALS : 0
  return passing
    .map((one, index) => ({ ...one, cost: costs[index] + doubt }))
    .sort((a, b) => a.cost - b.cost)
    .map(one => ({ ...one, cost: Math.max(0, one.cost) }))
}

module.exports = { search }
