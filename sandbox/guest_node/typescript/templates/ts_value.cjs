'use strict'
// A value of the wrong type: a missing `await`, call, conversion or `return`, a member, a default.

const { distance, isName } = require('../place.cjs')

const NAME = 'ts_value'
const MAX_MEMBERS = 12
const MAX_LITERALS = 3
/** Codes of functions that may end without a value. */
const ENDLESS = [2355, 2366, 7030]

/** Yield conversions of the expressions that a diagnostic is about. */
function * propose (place) {
  for (const [index, expression] of place.expressions.entries()) {
    for (const { cost, text, edits } of convert(place, expression)) {
      yield { cost: cost + 0.02 * index, edits: edits || [place.replaceValue(expression, text)] }
    }
  }
  yield * addReturn(place)
}

function * convert (place, expression) {
  const { ts } = place
  const text = expression.getText()
  const type = place.typeOf(expression)
  const wanted = place.expected(expression)
  const simple = ts.isIdentifier(expression) || ts.isCallExpression(expression) ||
    ts.isPropertyAccessExpression(expression) || ts.isElementAccessExpression(expression)
  const atom = simple ? text : `(${text})`
  if (place.isPromise(type)) {
    const isUsed = /^(?:Property|Element)Access/.test(ts.SyntaxKind[expression.parent.kind]) &&
      expression.parent.expression === expression
    const cost = place.uses.size && ts.isIdentifier(expression) ? 0.3 : 0.15
    yield { cost, text: isUsed ? `(await ${text})` : `await ${text}` }
  }
  yield * literal(place, expression)
  yield * caught(place, expression, type, wanted)
  yield * spread(place, expression, type, atom)
  if (!ts.isExpressionStatement(expression.parent)) yield * unwrap(place, expression)
  if (type.getCallSignatures().length && !ts.isAwaitExpression(expression)) yield { cost: 0.3, text: `${atom}()` }
  yield * nullable(place, expression, type, wanted, atom)
  if (!wanted || text === 'undefined' || expression.kind === ts.SyntaxKind.NullKeyword) return
  // A missing value that is converted to a string or number is still wrong.
  const careless = place.isNullable(type) ? 0.3 : 0
  for (const draft of primitive(place, type, wanted, text, atom)) {
    yield { ...draft, cost: draft.cost + careless }
  }
  const isArgument = (expression.parent.arguments || []).includes(expression)
  if (isArgument && isArray(place.checker, type)) yield { cost: 0.3, text: `...${atom}` }
  yield * memberOf(place, expression, type, wanted, atom)
  yield * converted(place, expression, type, wanted)
}

/** Yield the message of a caught error, whose type is unknown. */
function * caught (place, expression, type, wanted) {
  const { ts } = place
  if (!(type.flags & ts.TypeFlags.Unknown) || !ts.isIdentifier(expression)) return
  const name = expression.text
  const message = `${name} instanceof Error ? ${name}.message : String(${name})`
  const { parent } = expression
  if (ts.isPropertyAccessExpression(parent) && parent.name.text === 'message') {
    const isInside = !ts.isPropertyAssignment(parent.parent) && !ts.isVariableDeclaration(parent.parent) &&
      !ts.isReturnStatement(parent.parent) && !(parent.parent.arguments || []).includes(parent)
    const text = isInside && !ts.isTemplateSpan(parent.parent) ? `(${message})` : message
    yield { cost: 0.3, edits: [place.replace(parent, text)] }
  } else if (wanted) {
    yield { cost: place.text.includes(`instanceof Error ? ${name}`) ? 0.35 : 0.45, text: message }
  }
}

/** Yield an array of the items of a set, an iterator or a read-only array. */
function * spread (place, expression, type, atom) {
  const { ts, checker } = place
  const { parent } = expression
  if (!ts.isPropertyAccessExpression(parent) || parent.expression !== expression) return
  if (checker.getPropertyOfType(checker.getApparentType(type), parent.name.text)) return
  const isIterable = checker.getPropertiesOfType(checker.getApparentType(type))
    .some(one => one.name.startsWith('__@iterator'))
  if (!isIterable || type.flags & ts.TypeFlags.StringLike) return
  yield { cost: 0.3, text: `[...${atom}]` }
  yield { cost: 0.36, text: `Array.from(${expression.getText()})` }
}

/** Yield calls of the checkout's functions that make the expected type of a value. */
function * converted (place, expression, type, wanted) {
  for (const symbol of place.variables(expression)) {
    const [signature] = place.symbolType(symbol, expression).getCallSignatures()
    if (!signature || !signature.declaration || !signature.parameters.length) continue
    const isShort = signature.declaration.parameters.slice(1)
      .every(one => one.questionToken || one.initializer || one.dotDotDotToken)
    const isFitting = place.fits(type, place.symbolType(signature.parameters[0], expression)) &&
      place.fits(signature.getReturnType(), wanted)
    if (isShort && isFitting) yield { cost: 0.46, text: `${symbol.name}(${expression.getText()})` }
  }
}

/** Yield `"3"` for `3` and the reverse. */
function * literal (place, expression) {
  const { ts } = place
  const text = expression.getText()
  if (ts.isStringLiteral(expression) && /^(?:-?\d+(?:\.\d+)?|true|false)$/.test(expression.text)) {
    yield { cost: 0.12, text: expression.text }
  }
  if (/^(?:-?\d+(?:\.\d+)?|true|false)$/.test(text)) {
    yield { cost: 0.14, text: place.quote + text + place.quote }
  }
  if (expression.kind === ts.SyntaxKind.NullKeyword) yield { cost: 0.2, text: 'undefined' }
  if (text === 'undefined') yield { cost: 0.2, text: 'null' }
}

/** Yield what is inside of a superfluous call, access, array or `await`. */
function * unwrap (place, expression) {
  const { ts } = place
  if (ts.isCallExpression(expression)) {
    if (!expression.arguments.length) {
      yield { cost: 0.3, text: expression.expression.getText() }
      if (ts.isPropertyAccessExpression(expression.expression)) {
        yield { cost: 0.42, text: expression.expression.expression.getText() }
      }
    }
    if (expression.arguments.length === 1) yield { cost: 0.48, text: expression.arguments[0].getText() }
  }
  if (ts.isPropertyAccessExpression(expression) || ts.isElementAccessExpression(expression)) {
    yield { cost: 0.42, text: expression.expression.getText() }
  }
  if (ts.isArrayLiteralExpression(expression) && expression.elements.length === 1) {
    yield { cost: 0.35, text: expression.elements[0].getText() }
  }
  if (ts.isTemplateExpression(expression) && expression.templateSpans.length === 1) {
    yield { cost: 0.45, text: expression.templateSpans[0].expression.getText() }
  }
  if (ts.isPrefixUnaryExpression(expression)) yield { cost: 0.45, text: expression.operand.getText() }
}

/** Yield `?.` and a default for a value that may be missing. */
function * nullable (place, expression, type, wanted, atom) {
  const { ts } = place
  const access = expression
  const isOpen = one => (ts.isPropertyAccessExpression(one) || ts.isElementAccessExpression(one)) &&
    !one.questionDotToken && place.isNullable(place.typeOf(one.expression))
  if (isOpen(access)) {
    const dot = ts.isPropertyAccessExpression(access) ? '?.' : '?.['
    const tail = ts.isPropertyAccessExpression(access)
      ? access.name.getText() : `${access.argumentExpression.getText()}]`
    const isText = ts.isTemplateSpan(access.parent) // `undefined` would be a part of the text
    yield { cost: isText ? 0.6 : 0.25, text: access.expression.getText() + dot + tail }
  }
  if (ts.isCallExpression(access) && !access.questionDotToken && place.isNullable(place.typeOf(access.expression))) {
    yield { cost: 0.25, text: access.getText().replace(access.expression.getText(), one => `${one}?.`) }
  }
  if (!place.isNullable(type)) return
  const isInside = access.parent && !ts.isStatement(access.parent) && !ts.isVariableDeclaration(access.parent) &&
    !(ts.isCallExpression(access.parent) && access.parent.expression !== access) &&
    !ts.isPropertyAssignment(access.parent) && !ts.isArrowFunction(access.parent)
  const wrap = one => isInside ? `(${one})` : one
  const plain = place.checker.getNonNullableType(type)
  const target = wanted && !place.isNullable(wanted) ? wanted : plain
  const use = place.uses.get(access) || access
  const isArgument = (use.parent.arguments || []).includes(use)
  const beside = ts.isPropertyAccessExpression(access) ? siblings(place, access, target) : []
  if (beside.length === 1) yield { cost: 0.34, text: wrap(`${atom} ?? ${beside[0]}`) }
  for (const value of defaults(place, target)) {
    const isMadeUp = value === '{}' ? 0.25 : (isArgument && value !== '[]' ? 0.15 : 0)
    yield { cost: 0.35 + isMadeUp, text: wrap(`${atom} ?? ${value}`) }
  }
  for (const other of ['undefined', 'null']) {
    if (wanted) yield { cost: 0.4, text: wrap(`${atom} ?? ${other}`) }
  }
}

/** Return the other members of an object that fit a type. */
function siblings (place, access, wanted) {
  return place.checker.getPropertiesOfType(place.typeOf(access.expression))
    .filter(one => one.name !== access.name.text && isName(one.name))
    .filter(one => place.fits(place.symbolType(one, access), wanted))
    .map(one => `${access.expression.getText()}.${one.name}`)
}

/** Return the plainest values of a type. */
function defaults (place, type) {
  const { ts, checker } = place
  const has = flag => place.parts(type).some(one => one.flags & flag)
  const found = literalsOf(place, type)
  if (has(ts.TypeFlags.String)) found.push(place.quote + place.quote)
  if (has(ts.TypeFlags.NumberLike)) found.push('0', '1')
  if (has(ts.TypeFlags.BooleanLike)) found.push('false', 'true')
  if (place.parts(type).some(one => isArray(checker, one))) found.push('[]')
  else if (has(ts.TypeFlags.Object)) found.push('{}')
  return found
}

/** Return the first strings of a union. */
function literalsOf (place, type) {
  return place.parts(type).filter(one => one.isStringLiteral()).slice(0, MAX_LITERALS)
    .map(one => place.quote + one.value + place.quote)
}

function isArray (checker, type) {
  return (checker.isArrayType && checker.isArrayType(type)) || /\[\]$|^(?:readonly )?\[/.test(checker.typeToString(type))
}

/** Yield conversions between strings, numbers, booleans, arrays, dates and sets. */
function * primitive (place, type, wanted, text, atom) {
  const { ts, checker } = place
  const takes = flag => place.parts(wanted).some(one => one.flags & flag)
  const names = place.parts(wanted).map(one => one.symbol && one.symbol.name)
  const array = isArray(checker, type)
  const vague = type.flags & ts.TypeFlags.Object ? 0.3 : 0 // "[object Object]", NaN
  if (takes(ts.TypeFlags.StringLike)) {
    yield { cost: 0.4 + vague, text: `String(${text})` }
    yield { cost: 0.42 + vague, text: `${atom}.toString()` }
    yield { cost: 0.55 + vague, text: `\`\${${text}}\`` }
    if (array) yield { cost: 0.45, text: `${atom}.join(', ')` }
    if (type.symbol && type.symbol.name === 'Date') yield { cost: 0.2, text: `${atom}.toISOString()` }
  }
  if (takes(ts.TypeFlags.NumberLike)) {
    yield { cost: 0.4 + vague, text: `Number(${text})` }
    yield { cost: 0.45 + vague, text: `parseInt(${text}, 10)` }
    yield { cost: 0.46 + vague, text: `parseFloat(${text})` }
    if (type.symbol && type.symbol.name === 'Date') yield { cost: 0.2, text: `${atom}.getTime()` }
  }
  if (takes(ts.TypeFlags.BooleanLike)) {
    yield { cost: 0.5, text: `Boolean(${text})` }
    yield { cost: 0.52, text: `${atom} !== undefined` }
    if (array) yield { cost: 0.45, text: `${atom}.length > 0` }
  }
  if (place.parts(wanted).some(one => isArray(checker, one)) || names.includes('Iterable')) {
    if (!array) yield { cost: 0.35, text: `[${text}]` }
    yield { cost: 0.38, text: `[...${atom}]` }
    yield { cost: 0.4, text: `Array.from(${text})` }
    for (const part of ['keys', 'values', 'entries']) yield { cost: 0.45, text: `Object.${part}(${text})` }
  }
  for (const name of ['Date', 'Set', 'Map', 'Error', 'RegExp', 'URL']) {
    if (!names.includes(name)) continue
    yield { cost: 0.38, text: `new ${name}(${text})` }
    if (/^(?:\[\]|{})$/.test(text)) yield { cost: 0.3, text: `new ${name}()` }
  }
  if (wanted.getCallSignatures().length) yield { cost: 0.45, text: `() => ${text}` }
}

/** Yield members of a value that have the expected type. */
function * memberOf (place, expression, type, wanted, atom) {
  const { checker } = place
  if (isArray(checker, type)) yield { cost: 0.4, text: `${atom}[0]` }
  const found = []
  const receiver = place.receiver(expression)
  for (const property of checker.getPropertiesOfType(checker.getApparentType(type))) {
    if (!isName(property.name)) continue
    const own = checker.getNonNullableType(place.symbolType(property, expression))
    const extra = receiver && distance(receiver, property.name) < 0.6 ? 0 : 0.1
    if (place.fits(own, wanted)) found.push({ text: `${atom}.${property.name}`, extra })
    for (const signature of own.getCallSignatures().slice(0, 1)) {
      if (signature.parameters.length === 0 && place.fits(signature.getReturnType(), wanted)) {
        found.push({ text: `${atom}.${property.name}()`, extra: extra + 0.04 })
      }
    }
  }
  for (const [index, one] of found.slice(0, MAX_MEMBERS).entries()) {
    yield { cost: 0.33 + one.extra + 0.01 * index, text: one.text }
  }
}

/** Yield a `return` for the last expression of a function. */
function * addReturn (place) {
  const { ts } = place
  const around = place.up(place.node, one => ts.isFunctionLike(one))
  const body = around && around.body && ts.isBlock(around.body) && around.body
  const last = body && body.statements[body.statements.length - 1]
  if (last && ts.isExpressionStatement(last)) {
    yield { cost: 0.2, edits: [place.insert(place.file, last.getStart(), 'return ')] }
  }
  if (last && ENDLESS.includes(place.code)) yield * returnVariable(place, around, last)
  const functions = place.expressions.filter(one => ts.isArrowFunction(one) && ts.isBlock(one.body))
  for (const one of functions) {
    const final = one.body.statements[one.body.statements.length - 1]
    if (final && ts.isExpressionStatement(final)) {
      yield { cost: 0.2, edits: [place.insert(place.file, final.getStart(), 'return ')] }
    }
  }
}

/** Yield the return of a variable behind the last statement of a function, the last declared first. */
function * returnVariable (place, around, last) {
  const { ts } = place
  const type = place.returnType(around)
  if (!type || ts.isReturnStatement(last) || ts.isThrowStatement(last)) return
  const declared = around.body.statements.filter(one => ts.isVariableStatement(one))
    .flatMap(one => [...one.declarationList.declarations]).reverse()
  const start = last.getStart()
  const [indent] = /^\s*/.exec(place.text.slice(place.text.lastIndexOf('\n', start) + 1, start))
  for (const [index, { name }] of declared.entries()) {
    if (!ts.isIdentifier(name) || !place.fits(place.typeOf(name), type)) continue
    const text = `\n${indent}return ${name.text}${place.semicolon}`
    yield { cost: 0.25 + 0.02 * index, edits: [place.insert(place.file, last.getEnd(), text)] }
  }
}

module.exports = { NAME, defaults, propose }
