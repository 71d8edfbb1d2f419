'use strict'
// A missing check of a value that may be undefined or null.

const { defaults } = require('./ts_value.cjs')

const NAME = 'ts_guard'

/** Yield checks in front of the statement, and in the condition around it. */
function * propose (place) {
  const { ts } = place
  const open = place.expressions.filter(one =>
    (ts.isIdentifier(one) || ts.isPropertyAccessExpression(one)) && place.isNullable(place.typeOf(one)))
  for (const expression of open.slice(0, 2)) {
    const text = expression.getText()
    yield * inCondition(place, expression, text)
    yield * around(place, expression, text)
    yield * inFront(place, expression, text)
  }
}

function * inCondition (place, expression, text) {
  const { ts } = place
  const isAnd = one => ts.isBinaryExpression(one) &&
    one.operatorToken.kind === ts.SyntaxKind.AmpersandAmpersandToken
  const around = place.up(expression.parent, one => ts.isIfStatement(one) || ts.isConditionalExpression(one) ||
    ts.isWhileStatement(one) || isAnd(one))
  if (!around) return
  const condition = isAnd(around) ? around : around.expression || around.condition
  const isInside = expression.getStart() >= condition.getStart() && expression.getEnd() <= condition.getEnd()
  for (const [index, check] of place.checks(text, place.typeOf(expression), true).entries()) {
    const cost = (isInside ? 0.4 : 0.45) + 0.03 * index
    const isRight = isAnd(condition) && expression.getStart() >= condition.right.getStart()
    const operand = isRight ? condition.right : condition
    yield { cost, edits: [place.insert(place.file, operand.getStart(), `${check} && `)] }
  }
}

/** Yield the statement inside of a check. */
function * around (place, expression, text) {
  const { ts } = place
  const statement = place.up(expression, one => ts.isStatement(one))
  if (!statement || !ts.isExpressionStatement(statement)) return
  const { indent, step } = layout(place, statement)
  const body = statement.getText().replace(/\n/g, `\n${step}`)
  for (const [index, check] of place.checks(text, place.typeOf(expression), true).entries()) {
    const block = `if (${check}) {\n${indent}${step}${body}\n${indent}}`
    yield { cost: 0.42 + 0.02 * index, edits: [place.replace(statement, block)] }
  }
}

function * inFront (place, expression, text) {
  const { ts } = place
  const statement = place.up(expression, one => ts.isStatement(one) && one.parent && ts.isBlock(one.parent))
  if (!statement) return
  const spaces = layout(place, statement)
  const end = /;\s*$/m.test(place.text.slice(0, 4000)) ? ';' : ''
  let order = 0
  for (const leave of leaves(place, expression)) {
    for (const check of place.checks(text, place.typeOf(expression), false)) {
      for (const guard of shapes(place, check, leave + end, spaces)) {
        yield {
          cost: 0.45 + 0.02 * order,
          edits: [place.insert(place.file, statement.getStart(), `${guard}\n${spaces.indent}`)]
        }
        order += 1
      }
    }
  }
}

/** Return the indentation of a statement's line, and that of one more level. */
function layout (place, statement) {
  const start = statement.getStart()
  const line = place.text.slice(place.text.lastIndexOf('\n', start) + 1, start)
  const [indent] = /^\s*/.exec(line)
  return { indent, step: indent.includes('\t') ? '\t' : '  ' }
}

/** Return the shapes of a guard, as the file writes its others first. */
function shapes (place, check, leave, { indent, step }) {
  const short = `if (${check}) ${leave}`
  const long = `if (${check}) {\n${indent}${step}${leave}\n${indent}}`
  return /if \(.*\) (?:return|throw|continue)\b/.test(place.text) ? [short] : [long, short]
}

/** Return the statements that leave a block with a value that its function may return. */
function leaves (place, expression) {
  const { ts, checker } = place
  const around = place.functionAround(expression)
  const loop = place.up(expression, one => ts.isForOfStatement(one) || ts.isForStatement(one) || ts.isFunctionLike(one))
  const found = loop && !ts.isFunctionLike(loop) ? ['continue'] : []
  const signature = around && checker.getSignatureFromDeclaration(around)
  if (!signature) return found
  const type = checker.getReturnTypeOfSignature(signature)
  const promised = place.isPromise(type) && checker.getTypeArguments ? checker.getTypeArguments(type)[0] : type
  for (const part of place.parts(promised || type)) {
    if (part.flags & (ts.TypeFlags.Void | ts.TypeFlags.Undefined)) found.push('return')
    if (part.flags & ts.TypeFlags.Undefined) found.push('return undefined')
    if (part.flags & ts.TypeFlags.Null) found.push('return null')
  }
  for (const parameter of signature.parameters) {
    const isOther = parameter.name !== expression.getText()
    if (isOther && place.fits(place.symbolType(parameter, expression), promised || type)) {
      found.push(`return ${parameter.name}`)
    }
  }
  for (const value of defaults(place, promised || type).slice(0, 2)) found.push(`return ${value}`)
  found.push(`throw new Error(${place.quote}${expression.getText()} is missing${place.quote})`)
  return [...new Set(found)]
}

module.exports = { NAME, propose }
