'use strict'
// A call with wrong arguments: swapped, missing or superfluous ones, or another variable.

const { distance, isName } = require('../place.cjs')
const { defaults } = require('./ts_value.cjs')

const NAME = 'ts_call'
const MAX_VALUES = 14
const MAX_ARGUMENTS = 6
/** Codes of calls with the wrong number of arguments. */
const COUNTED = [2554, 2555, 2556, 2575]
/** Cost of the only variable of a type. */
const ONLY = 0.2
/** Distance of names above which a value fits by its type only. */
const FAR = 0.6

/** Yield corrections of the call around a diagnostic, and other variables for a wrong value. */
function * propose (place) {
  const { ts } = place
  const call = place.up(place.node, one => ts.isCallExpression(one) || ts.isNewExpression(one))
  if (call && call.arguments && call.arguments.length <= MAX_ARGUMENTS) {
    yield * swap(place, call)
    yield * add(place, call)
    yield * remove(place, call)
  }
  for (const [index, expression] of place.expressions.entries()) {
    const wanted = place.expected(expression)
    if (!wanted) continue
    for (const { text, cost } of values(place, expression, wanted, expression.getText())) {
      yield { cost: 0.3 + cost + 0.02 * index, edits: [place.replaceValue(expression, text)] }
    }
  }
}

function * swap (place, call) {
  const given = [...call.arguments]
  for (let i = 0; i < given.length; i += 1) {
    for (let j = i + 1; j < given.length; j += 1) {
      yield { cost: 0.2 + 0.02 * (j - i), edits: place.exchange(given[i], given[j]) }
    }
  }
}

function * add (place, call) {
  const signature = place.checker.getResolvedSignature(call)
  const given = [...call.arguments]
  if (!signature || !signature.parameters || given.length >= signature.parameters.length) return
  for (let at = given.length; at >= 0; at -= 1) {
    const parameter = signature.parameters[at]
    const wanted = place.symbolType(parameter, call)
    const found = values(place, call, wanted, parameter.name)
    for (const value of defaults(place, wanted)) found.push({ text: value, cost: 0.6 })
    for (const value of elsewhere(place, call, at)) found.push({ text: value, cost: 0 })
    for (const { text, cost } of found) {
      const isLast = at === given.length
      const position = isLast ? endOfArguments(call) : given[at].getStart()
      const inserted = isLast ? (given.length ? `, ${text}` : text) : `${text}, `
      const later = 0.02 * (given.length - at)
      yield { cost: 0.15 + cost + later, edits: [place.insert(call.getSourceFile(), position, inserted)] }
    }
  }
}

/** Return the literals that other calls of the function in this file pass at a position. */
function elsewhere (place, call, at) {
  const { ts } = place
  const found = new Set()
  const visit = node => {
    const isSame = (ts.isCallExpression(node) || ts.isNewExpression(node)) && node !== call &&
      node.expression.getText() === call.expression.getText()
    const value = isSame && node.arguments && node.arguments[at]
    if (value && (ts.isLiteralExpression(value) || /^(?:true|false|null)$/.test(value.getText()))) {
      found.add(value.getText())
    }
    ts.forEachChild(node, visit)
  }
  visit(call.getSourceFile())
  return found
}

function endOfArguments (call) {
  const given = call.arguments
  return given.length ? given[given.length - 1].getEnd() : call.getEnd() - 1
}

function * remove (place, call) {
  const given = call.arguments
  const base = COUNTED.includes(place.code) ? 0.35 : 0.8
  for (let at = 0; at < given.length; at += 1) {
    yield { cost: base + 0.02 * (given.length - 1 - at), edits: [place.removeItem(given, at)] }
  }
}

/** Return variables, and members of variables, that fit a type, by the nearness of their names. */
function values (place, node, wanted, name) {
  const found = members(place, node, wanted, name)
  for (const symbol of place.variables(node)) {
    if (!isName(symbol.name)) continue
    const type = place.symbolType(symbol, node)
    const far = place.isLocal(symbol) ? 0 : 0.1
    if (place.fits(type, wanted)) {
      const apart = distance(name, symbol.name)
      found.push({ text: symbol.name, cost: far + 0.4 * apart + (apart > FAR ? 0.2 : 0) })
    }
    if (type.getCallSignatures().length || !(type.flags & place.ts.TypeFlags.Object)) continue
    for (const member of place.checker.getPropertiesOfType(type)) {
      if (!isName(member.name) || distance(name, member.name) > 0.5) continue
      if (!place.fits(place.symbolType(member, node), wanted)) continue
      const text = `${symbol.name}.${member.name}`
      found.push({ text, cost: far + 0.12 + 0.4 * distance(name, member.name) })
    }
  }
  const fitting = found.filter(one => isName(one.text))
  // The only variable of a named type needs no similar name.
  if (fitting.length === 1 && wanted.symbol) fitting[0].cost = Math.min(fitting[0].cost, ONLY)
  const own = node.getText()
  return found.filter(one => one.text !== own).sort((a, b) => a.cost - b.cost).slice(0, MAX_VALUES)
}

/** Return the members of the class around a node that fit a type. */
function members (place, node, wanted, name) {
  const { ts, checker } = place
  const around = place.up(node, one => ts.isClassLike(one))
  if (!around) return []
  return around.members.filter(one => ts.isPropertyDeclaration(one) && ts.isIdentifier(one.name))
    .filter(one => place.fits(checker.getTypeAtLocation(one), wanted))
    .map(one => ({ text: `this.${one.name.text}`, cost: 0.05 + 0.4 * distance(name, one.name.text) }))
}

module.exports = { NAME, propose, values }
