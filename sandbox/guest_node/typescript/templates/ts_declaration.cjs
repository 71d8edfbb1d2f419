'use strict'
// A wrong declaration: its type, a missing or superfluous `?`, `async`, a modifier, a member.

const { nearest } = require('../place.cjs')

const NAME = 'ts_declaration'
const MAX_DECLARATIONS = 10
const LITERAL = /['"]/
/** Additional cost of a type that says less than one with literals. */
const LOSS = 0.5
/** Additional cost of another type for a value that is declared for others. */
const OTHERS = 0.15
const PRIMITIVES = ['string', 'number', 'boolean']

/** Yield other declarations of what a diagnostic is about. */
function * propose (place) {
  const sources = place.expressions.map(one => spell(place, one)).filter(Boolean)
  for (const [index, { node, near }] of declarations(place).entries()) {
    const far = (near ? 0 : 0.08) + 0.02 * index
    for (const draft of change(place, node, sources)) yield { cost: draft.cost + far, edits: draft.edits }
  }
}

/** Return the source text of an expression's type, without its literals; undefined if it is long. */
function spell (place, expression) {
  const { ts, checker } = place
  const type = checker.getBaseTypeOfLiteralType(place.typeOf(expression))
  const text = checker.typeToString(type, expression, ts.TypeFormatFlags.NoTruncation)
  return /\bany\b|import\(|typeof |unique /.test(text) || text.length > 120 ? undefined : text
}

/** Return the declarations of the checkout that a diagnostic depends on, the nearest first. */
function declarations (place) {
  const { ts, checker } = place
  const found = new Map()
  const add = (node, near) => {
    if (node && place.workspace.isOwn(node.getSourceFile().fileName) && !found.has(node)) found.set(node, near)
  }
  const addSymbol = (symbol, near) => {
    const real = place.follow(symbol)
    for (const one of (real && real.declarations) || []) add(one, near)
  }
  const holder = place.up(place.node, one => one.type || ts.isFunctionLike(one) || ts.isPropertyAssignment(one))
  add(holder, true)
  if (ts.isReturnStatement(place.node) || place.up(place.node, one => ts.isReturnStatement(one))) {
    add(place.functionAround(place.node), true)
  }
  for (const info of place.diagnostic.relatedInformation || []) {
    const file = info.file && place.program.getSourceFile(info.file.fileName)
    if (file) add(place.up(place.nodeAt(file, info.start, info.start + info.length), one => one.name && one !== file), true)
  }
  const expected = place.expressions.map(one => ts.isExpression(one) && checker.getContextualType(one))
  const collect = node => {
    if (ts.isIdentifier(node)) addSymbol(checker.getSymbolAtLocation(node), false)
    if (ts.isPropertyAssignment(node) && node.name) {
      const type = checker.getContextualType(node.parent)
      addSymbol(type && checker.getPropertyOfType(type, node.name.getText()), true)
    }
    if (ts.isCallExpression(node) || ts.isNewExpression(node)) {
      const signature = checker.getResolvedSignature(node)
      const declaration = signature && signature.declaration
      if (declaration) {
        declaration.parameters.forEach(one => add(one, false))
        add(declaration, false)
      }
    }
    if (!ts.isFunctionLike(node)) ts.forEachChild(node, collect)
  }
  const statement = place.up(place.node, one => ts.isStatement(one) || ts.isClassElement(one) || ts.isTypeElement(one))
  collect(place.node)
  if (place.node.parent) collect(place.node.parent)
  if (statement && !ts.isBlock(statement)) collect(statement)
  for (const type of expected) addSymbol(type && (type.aliasSymbol || type.symbol), false)
  return [...found].map(([node, near]) => ({ node, near }))
    .filter(one => one.node.type || ts.isFunctionLike(one.node) || one.node.modifiers ||
      one.node.questionToken || typeArguments(one.node).length)
    .slice(0, MAX_DECLARATIONS)
}

/** Return the type arguments of the value that a variable or property is declared with. */
function typeArguments (node) {
  return [...((node.initializer && node.initializer.typeArguments) || [])]
}

/** Yield changes of one declaration. */
function * change (place, node, sources) {
  const { ts } = place
  const isOptional = ts.isPropertySignature(node) || ts.isPropertyDeclaration(node) || ts.isParameter(node)
  if (isOptional && node.questionToken) {
    yield { cost: 0.3, edits: [place.replace(node.questionToken, '')] }
  } else if (isOptional && !node.initializer && !node.dotDotDotToken) {
    const cost = place.isChecked(node.name.getText(), 'undefined') ? 0.08 : 0.65
    yield { cost, edits: [place.insert(node.getSourceFile(), node.name.getEnd(), '?')] }
  }
  yield * modifiers(place, node)
  if (ts.isFunctionLike(node) && node.body) yield * asyncness(place, node)
  if (node.type) yield * types(place, node.type, sources.concat(returned(place, node)))
  for (const argument of typeArguments(node)) yield * types(place, argument, sources)
}

function * modifiers (place, node) {
  const { ts } = place
  for (const modifier of node.modifiers || []) {
    const kinds = [ts.SyntaxKind.ReadonlyKeyword, ts.SyntaxKind.PrivateKeyword,
      ts.SyntaxKind.ProtectedKeyword, ts.SyntaxKind.StaticKeyword]
    const at = kinds.indexOf(modifier.kind)
    if (at < 0) continue
    const text = node.getSourceFile().text
    const space = /\s*/.exec(text.slice(modifier.getEnd()))[0].length
    yield {
      cost: 0.35 + 0.05 * at,
      edits: [{ ...place.replace(modifier, ''), end: modifier.getEnd() + space }]
    }
  }
  if (ts.isMethodDeclaration(node) || ts.isPropertyDeclaration(node)) {
    yield { cost: 0.5, edits: [place.insert(node.getSourceFile(), node.name.getStart(), 'static ')] }
  }
}

function * asyncness (place, node) {
  const { ts } = place
  const keyword = (node.modifiers || []).find(one => one.kind === ts.SyntaxKind.AsyncKeyword)
  if (keyword) {
    yield { cost: 0.5, edits: [{ ...place.replace(keyword, ''), end: keyword.getEnd() + 1 }] }
  } else if (node.type && /^Promise</.test(node.type.getText())) {
    const exported = (node.modifiers || [])[(node.modifiers || []).length - 1]
    const start = exported ? exported.getEnd() + 1 : node.getStart()
    yield { cost: 0.2, edits: [place.insert(node.getSourceFile(), start, 'async ')] }
  }
}

/** Return the types that the body of a function returns. */
function returned (place, node) {
  const { ts } = place
  if (!ts.isFunctionLike(node) || !node.body) return []
  const found = []
  const visit = one => {
    if (ts.isReturnStatement(one) && one.expression) found.push(one.expression)
    if (!ts.isFunctionLike(one)) ts.forEachChild(one, visit)
  }
  if (ts.isBlock(node.body)) ts.forEachChild(node.body, visit)
  else found.push(node.body)
  const spelled = [...new Set(found.map(one => spell(place, one)).filter(Boolean))]
  const joined = spelled.length > 1 ? [spelled.join(' | ')] : spelled
  const isAsync = (node.modifiers || []).some(one => one.kind === ts.SyntaxKind.AsyncKeyword)
  return isAsync ? joined.map(one => `Promise<${one}>`) : joined
}

/** Yield other types for a type annotation, changing as little of it as possible. */
function * types (place, node, sources) {
  const { ts } = place
  const text = node.getText()
  const spelled = new Set(sources.map(source => withFirst(text, source)))
  for (const [index, source] of [...spelled].entries()) {
    const isReturn = ts.isFunctionLike(node.parent)
    const loses = LITERAL.test(text) || /[{]/.test(source) ? LOSS : (isReturn && !dropsOwn(place, node, source) ? 0 : OTHERS)
    yield { cost: 0.32 + loses + 0.02 * index, edits: [place.replace(node, source)] }
    if (text.endsWith('[]') || source.split(' | ').includes(text)) continue
    yield { cost: 0.4 + loses + 0.02 * index, edits: [place.replace(node, `${text} | ${source}`)] }
  }
  const literals = place.expressions.map(one => one.getText()).filter(one => /^(['"]).*\1$/.test(one))
  for (const literal of literals) yield * addMember(place, node, literal)
  for (const other of ['undefined', 'null']) {
    const rest = withoutMember(text, other)
    const name = node.parent.name && node.parent.name.getText()
    if (rest) yield { cost: 0.42, edits: [place.replace(node, rest)] }
    else if (name && !ts.isFunctionLike(node.parent) && place.isChecked(name, other)) {
      yield { cost: 0.1, edits: [place.replace(node, `${text} | ${other}`)] }
    } else yield { cost: 0.45, edits: [place.replace(node, `${text} | ${other}`)] }
  }
  if (/^Record</.test(text)) yield { cost: 0.45, edits: [place.replace(node, `Partial<${text}>`)] }
  const isArray = ts.isArrayTypeNode(node)
  if (isArray) yield { cost: 0.4, edits: [place.replace(node, node.elementType.getText())] }
  else yield { cost: 0.4, edits: [place.replace(node, `${text}[]`)] }
  const promised = /^Promise<(.*)>$/s.exec(text)
  if (promised) yield { cost: 0.4, edits: [place.replace(node, promised[1])] }
  else if (ts.isFunctionLike(node.parent)) yield { cost: 0.45, edits: [place.replace(node, `Promise<${text}>`)] }
  if (/^readonly /.test(text)) yield { cost: 0.35, edits: [place.replace(node, text.slice(9))] }
  else if (isArray) yield { cost: 0.45, edits: [place.replace(node, `readonly ${text}`)] }
  yield * inside(place, node)
}

/** Return whether a type is without one of the checkout that an annotation names. */
function dropsOwn (place, node, source) {
  const { ts } = place
  const names = []
  const visit = one => {
    const symbol = ts.isTypeReferenceNode(one) && place.follow(place.checker.getSymbolAtLocation(one.typeName))
    if (symbol && place.isOwnSymbol(symbol)) names.push(one.typeName.getText())
    ts.forEachChild(one, visit)
  }
  visit(node)
  return names.some(name => !source.includes(name))
}

/** Yield exchanged keywords, arguments and names inside of a type. */
function * inside (place, node) {
  const { ts } = place
  const name = ts.SyntaxKind[node.kind]
  if (/^(String|Number|Boolean)Keyword$/.test(name)) {
    for (const other of PRIMITIVES) yield { cost: 0.4, edits: [place.replace(node, other)] }
  }
  if (ts.isTypeReferenceNode(node)) {
    const given = [...(node.typeArguments || [])]
    if (given.length === 2) {
      yield { cost: 0.35, edits: place.exchange(given[0], given[1]) }
    }
    const known = place.checker.getSymbolsInScope(node, ts.SymbolFlags.Type)
      .filter(one => place.isOwnSymbol(one)).map(one => one.name)
    for (const { name: other, apart } of nearest(node.typeName.getText(), known, 6)) {
      yield { cost: 0.35 + 0.3 * apart, edits: [place.replace(node.typeName, other)] }
    }
    if (/^(Partial|Readonly|Required)$/.test(node.typeName.getText()) && given.length === 1) {
      yield { cost: 0.4, edits: [place.replace(node, given[0].getText())] }
    }
  }
  const children = []
  ts.forEachChild(node, child => { if (ts.isTypeNode(child)) children.push(child) })
  for (const child of children) {
    for (const draft of inside(place, child)) yield { ...draft, cost: draft.cost + 0.04 }
  }
}

/** Yield a union with one more literal, where the union is written. */
function * addMember (place, node, literal) {
  const { ts } = place
  let target = node
  if (ts.isTypeReferenceNode(node)) {
    const real = place.follow(place.checker.getSymbolAtLocation(node.typeName))
    const alias = ((real && real.declarations) || []).find(one => ts.isTypeAliasDeclaration(one))
    target = alias && alias.type
  }
  if (target && (ts.isUnionTypeNode(target) || ts.isLiteralTypeNode(target))) {
    const quote = target.getText().includes("'") ? "'" : '"'
    const text = `${quote}${literal.slice(1, -1)}${quote}`
    yield { cost: 0.35, edits: [place.insert(target.getSourceFile(), target.getEnd(), ` | ${text}`)] }
  }
}

/** Return a union that begins with the member that the code already has. */
function withFirst (text, union) {
  const parts = union.split(' | ')
  return parts.includes(text) ? [text, ...parts.filter(one => one !== text)].join(' | ') : union
}

/** Return the text of a union without a member; undefined if it does not have it. */
function withoutMember (text, member) {
  const parts = text.split(/\s*\|\s*/)
  const rest = parts.filter(one => one !== member)
  return rest.length && rest.length < parts.length ? rest.join(' | ') : undefined
}

module.exports = { NAME, propose }
