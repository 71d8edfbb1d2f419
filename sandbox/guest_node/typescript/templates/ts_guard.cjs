'use strict'
// A missing check of a value that may be undefined or null.

const { defaults } = require('./ts_value.cjs')

const NAME = 'ts_guard'
const MAX_GUARDS = 4

/** Yield checks in front of the statement, and in the condition around it. */
function * propose (place) {
  const { ts } = place
  const open = place.expressions.filter(one =>
    (ts.isIdentifier(one) || ts.isPropertyAccessExpression(one)) && place.isNullable(place.typeOf(one)))
  for (const expression of open.slice(0, 2)) {
    const text = expression.getText()
    yield * inCondition(place, expression, text)
    yield * around(place, expression, text)
    yield * likeOthers(place, expression)
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

/** Return the statement behind the declaration of a variable in a statement's block, or the statement. */
function behindDeclaration (place, expression, statement) {
  const value = place.ts.isIdentifier(expression) && place.initializerOf(expression)
  const declared = value && place.up(value, one => place.ts.isVariableStatement(one))
  const { statements } = statement.parent
  const at = declared ? statements.indexOf(declared) + 1 : 0
  return at && statements[at].getStart() < statement.getStart() ? statements[at] : statement
}

/** Yield the checks that follow the declarations of other variables, with the names of this one. */
function * likeOthers (place, expression) {
  const { ts } = place
  const call = ts.isIdentifier(expression) && calledBy(ts, place.initializerOf(expression))
  const statement = place.up(expression, one => ts.isStatement(one) && one.parent && ts.isBlock(one.parent))
  if (!call || !statement) return
  const start = behindDeclaration(place, expression, statement).getStart()
  const { indent } = layout(place, statement)
  const found = new Set()
  for (const { name, other, guard } of otherGuards(place)) {
    if (guard.getStart() === statement.getStart()) continue
    const names = new Map([[name, expression.text], [capital(name), capital(expression.text)]])
    other.arguments.forEach((one, at) => {
      if (call.arguments[at] && ts.isIdentifier(one)) names.set(one.text, call.arguments[at].getText())
    })
    found.add(adapt(guard, names, indent))
  }
  for (const [order, text] of [...found].slice(0, MAX_GUARDS).entries()) {
    // What only has an effect can also be left out, which is tried first.
    const base = ts.isExpressionStatement(statement) ? 0.45 : 0.4
    yield { cost: base + 0.02 * order, edits: [place.insert(place.file, start, `${text}\n${indent}`)] }
  }
}

/** Return the call that makes a value. */
function calledBy (ts, value) {
  const call = value && ts.isAwaitExpression(value) ? value.expression : value
  return call && ts.isCallExpression(call) ? call : undefined
}

/** Return the checks that leave a block behind a declaration, with the declared name and its call. */
function otherGuards (place) {
  const { ts } = place
  const found = []
  const visit = node => {
    const statements = ts.isBlock(node) ? node.statements : []
    for (const [at, guard] of statements.entries()) {
      const before = at && ts.isVariableStatement(statements[at - 1]) && statements[at - 1]
      const declared = before && before.declarationList.declarations[0]
      const other = declared && calledBy(ts, declared.initializer)
      if (!other || !ts.isIfStatement(guard) || guard.elseStatement) continue
      const name = declared.name.getText()
      const isLeaving = /\b(?:return|throw|continue)\b/.test(guard.thenStatement.getText())
      const isCheck = [`!${name}`, `${name} === undefined`, `${name} === null`, `${name} == null`]
        .includes(guard.expression.getText())
      if (isLeaving && isCheck) found.push({ name, other, guard })
    }
    ts.forEachChild(node, visit)
  }
  const files = place.workspace.files(place.service).map(name => place.program.getSourceFile(name))
  for (const file of [place.file, ...files.filter(one => one !== place.file)]) visit(file)
  return found
}

function capital (name) {
  return name[0].toUpperCase() + name.slice(1)
}

/** Return the text of a statement with other names and another indentation. */
function adapt (statement, names, indent) {
  const { character } = statement.getSourceFile().getLineAndCharacterOfPosition(statement.getStart())
  const lines = statement.getText().split('\n')
  const text = lines.map((line, at) => at ? indent + line.slice(character) : line).join('\n')
  return text.replace(/(?<![\w$.])[A-Za-z_$][\w$]*/g, word => names.has(word) ? names.get(word) : word)
}

function * inFront (place, expression, text) {
  const { ts } = place
  const statement = place.up(expression, one => ts.isStatement(one) && one.parent && ts.isBlock(one.parent))
  if (!statement) return
  const spaces = layout(place, statement)
  const start = behindDeclaration(place, expression, statement).getStart()
  let order = 0
  for (const leave of leaves(place, expression)) {
    for (const check of place.checks(text, place.typeOf(expression), false)) {
      for (const guard of shapes(place, check, leave + place.semicolon, spaces)) {
        yield {
          cost: 0.45 + 0.02 * order,
          edits: [place.insert(place.file, start, `${guard}\n${spaces.indent}`)]
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
  const type = place.returnType(around)
  for (const part of place.parts(type)) {
    if (part.flags & (ts.TypeFlags.Void | ts.TypeFlags.Undefined)) found.push('return')
    if (part.flags & ts.TypeFlags.Undefined) found.push('return undefined')
    if (part.flags & ts.TypeFlags.Null) found.push('return null')
  }
  for (const parameter of signature.parameters) {
    const isOther = parameter.name !== expression.getText()
    if (isOther && place.fits(place.symbolType(parameter, expression), type)) {
      found.push(`return ${parameter.name}`)
    }
  }
  for (const value of defaults(place, type).slice(0, 2)) found.push(`return ${value}`)
  found.push(`throw new Error(${place.quote}${expression.getText()} is missing${place.quote})`)
  return [...new Set(found)]
}

module.exports = { NAME, propose }
