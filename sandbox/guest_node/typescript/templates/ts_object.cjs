'use strict'
// An object literal without a required property, or with a superfluous one.

const { isName } = require('../place.cjs')
const { values } = require('./ts_call.cjs')
const { defaults } = require('./ts_value.cjs')

const NAME = 'ts_object'
const MAX_MISSING = 6
const PER_PROPERTY = 6

/** Yield object literals with the missing properties. */
function * propose (place) {
  const { ts, checker } = place
  const literals = place.expressions.filter(one => ts.isObjectLiteralExpression(one))
  const around = place.up(place.node, one => ts.isObjectLiteralExpression(one))
  if (around && !literals.includes(around)) literals.push(around)
  const call = place.up(place.node, one => ts.isCallExpression(one))
  const given = call ? [...call.arguments].filter(one => ts.isObjectLiteralExpression(one)) : []
  for (const literal of new Set([...literals, ...given])) {
    const type = checker.getContextualType(literal)
    if (!type) continue
    yield * complete(place, literal, type)
    yield * remove(place, literal, type)
  }
}

function * complete (place, literal, type) {
  const { ts, checker } = place
  const own = new Set(checker.getPropertiesOfType(place.typeOf(literal)).map(one => one.name))
  for (const part of place.parts(checker.getNonNullableType(type))) {
    const all = checker.getPropertiesOfType(part)
    const missing = all.filter(one => !own.has(one.name) && !(one.flags & ts.SymbolFlags.Optional))
    if (!missing.length || missing.length > MAX_MISSING || !missing.every(one => isName(one.name))) continue
    const choices = missing.map(one => choose(place, literal, one))
    if (choices.some(found => !found.length)) continue
    const most = missing.length === 1 ? PER_PROPERTY : 2
    for (let rank = 0; rank < most; rank += 1) {
      const chosen = choices.map(found => found[Math.min(rank, found.length - 1)])
      const cost = chosen.reduce((sum, one) => sum + one.cost, 0) / chosen.length
      const edits = missing.map((one, index) => insert(place, literal, all, one, chosen[index].text))
      yield { cost, edits: merge(edits) }
    }
  }
}

/** Return values for a property: as its neighbours get theirs, variables, the plainest value. */
function choose (place, literal, property) {
  const { ts } = place
  const wanted = place.symbolType(property, literal)
  const found = []
  for (const one of literal.properties) {
    const value = ts.isPropertyAssignment(one) && one.initializer
    if (value && ts.isPropertyAccessExpression(value) && value.name.text === one.name.text) {
      const type = place.typeOf(value.expression)
      const member = place.checker.getPropertyOfType(type, property.name)
      if (member && place.fits(place.symbolType(member, literal), wanted)) {
        found.push({ cost: 0.1, text: `${property.name}: ${value.expression.getText()}.${property.name}` })
      }
    }
  }
  for (const { text, cost } of values(place, literal, wanted, property.name)) {
    const isSame = text === property.name
    found.push({ cost: 0.15 + cost, text: isSame ? text : `${property.name}: ${text}` })
  }
  for (const [index, text] of defaults(place, wanted).entries()) {
    found.push({ cost: 0.5 + 0.05 * index, text: `${property.name}: ${text}` })
  }
  const unique = new Map(found.sort((a, b) => b.cost - a.cost).map(one => [one.text, one]))
  return [...unique.values()].sort((a, b) => a.cost - b.cost)
}

/** Return the edit that adds a property where the type declares it. */
function insert (place, literal, all, property, text) {
  const order = all.map(one => one.name)
  const at = order.indexOf(property.name)
  const given = [...literal.properties]
  const before = given.filter(one => one.name && order.indexOf(one.name.getText()) < at &&
    order.indexOf(one.name.getText()) >= 0).pop()
  if (!given.length) return place.replace(literal, `{ ${text} }`)
  const [outer, inner] = [literal, given[0]]
    .map(one => place.file.getLineAndCharacterOfPosition(one.getStart()))
  const indent = inner.line === outer.line ? ' ' : '\n' + ' '.repeat(inner.character)
  if (before) return place.insert(place.file, before.getEnd(), `,${indent}${text}`)
  return place.insert(place.file, given[0].getStart(), `${text},${indent}`)
}

/** Join insertions at one position. */
function merge (edits) {
  const merged = new Map()
  for (const edit of edits) {
    const key = `${edit.start}:${edit.end}`
    const known = merged.get(key)
    if (known && known.start !== known.end) {
      merged.set(key, { ...known, text: known.text.replace(/ }$/, `, ${edit.text.slice(2)}`) })
    } else {
      merged.set(key, known ? { ...known, text: known.text + edit.text } : edit)
    }
  }
  return [...merged.values()]
}

/** Yield the literal without a property that its type does not have. */
function * remove (place, literal, type) {
  const given = literal.properties
  const at = given.findIndex(one => one.name && one.getStart() <= place.start && place.start < one.getEnd())
  if (at < 0 || place.checker.getPropertyOfType(type, given[at].name.getText())) return
  yield { cost: 0.6, edits: [place.removeItem(given, at)] }
}

module.exports = { NAME, propose }
