'use strict'
// A misspelt or wrong name: a property, a variable, a type, an import, a literal of a union.

const { isName, nearest } = require('../place.cjs')

const NAME = 'ts_name'
const PER_NAME = 10
/** Cost if the diagnostic is about the name itself. */
const NEAR = 0.1
/** Cost if the name is near the place of the diagnostic. */
const FAR = 0.4
const MAX_NAMES = 14
/** Members that collections call differently. */
const SYNONYMS = [
  ['push', 'add', 'append', 'set'], ['length', 'size', 'count'], ['includes', 'has', 'contains'],
  ['remove', 'delete'], ['get', 'at'], ['substr', 'substring', 'slice'], ['indexOf', 'findIndex']
]

/** Yield other names for the names that a diagnostic is about. */
function * propose (place) {
  const { ts } = place
  const names = new Map()
  const add = (node, cost) => {
    if (!names.has(node) || names.get(node) > cost) names.set(node, cost)
  }
  const collect = (node, cost) => {
    if (ts.isIdentifier(node) || ts.isStringLiteralLike(node)) add(node, cost)
    if (names.size < MAX_NAMES && !ts.isFunctionLike(node)) {
      ts.forEachChild(node, child => collect(child, FAR))
    }
  }
  collect(place.node, NEAR)
  for (const expression of place.expressions) {
    collect(expression, expression === place.node ? NEAR : FAR)
  }
  if (ts.isCallExpression(place.node.parent)) collect(place.node.parent.expression, FAR)
  for (const [node, cost] of names) {
    for (const { name, apart } of nearest(node.text, options(place, node), PER_NAME)) {
      // The literal is probably a misspelt one of those that are expected.
      const base = ts.isStringLiteralLike(node) && apart < 0.5 ? NEAR : cost
      const isSame = SYNONYMS.some(names => names.includes(name) && names.includes(node.text))
      yield { cost: base + (isSame ? 0.1 : 0.5 * apart), edits: [rename(place, node, name)] }
    }
  }
}

/** Return the edit that puts another name, in the quotes of the old one. */
function rename (place, node, name) {
  if (!place.ts.isStringLiteralLike(node)) return place.replace(node, name)
  const quote = place.text[node.getStart()]
  return place.replace(node, quote + name + quote)
}

/** Return the names that may be meant. */
function options (place, node) {
  const { ts, checker } = place
  const parent = node.parent
  if (ts.isStringLiteralLike(node)) return literals(place, node)
  if (ts.isPropertyAccessExpression(parent) && parent.name === node) {
    return members(place, place.typeOf(parent.expression))
  }
  if (ts.isQualifiedName(parent) && parent.right === node) {
    const symbol = checker.getSymbolAtLocation(parent.left)
    return symbol ? checker.getExportsOfModule(symbol).map(one => one.name) : []
  }
  if ((ts.isImportSpecifier(parent) || ts.isExportSpecifier(parent))) return exportsOf(place, parent)
  if (ts.isBindingElement(parent) && (parent.propertyName || parent.name) === node) {
    return members(place, place.typeOf(parent.parent))
  }
  if ((ts.isPropertyAssignment(parent) || ts.isShorthandPropertyAssignment(parent) ||
    ts.isMethodDeclaration(parent)) && parent.name === node &&
    ts.isObjectLiteralExpression(parent.parent)) {
    const type = checker.getContextualType(parent.parent)
    const given = new Set(parent.parent.properties.map(one => one.name && one.name.text))
    return type ? members(place, type).filter(name => !given.has(name)) : []
  }
  if (ts.isJsxAttribute && ts.isJsxAttribute(parent) && parent.name === node) {
    const type = checker.getContextualType(parent.parent)
    return type ? members(place, type) : []
  }
  if (ts.isTypeReferenceNode(parent) || ts.isExpressionWithTypeArguments(parent)) {
    return checker.getSymbolsInScope(node, ts.SymbolFlags.Type).filter(one => isName(one.name))
      .map(one => one.name)
  }
  if (ts.isClassElement(parent) && parent.name === node) return inherited(place, parent)
  if (parent.name === node) return []
  return place.variables(node).map(one => one.name).filter(isName)
}

function members (place, type) {
  const plain = place.checker.getNonNullableType(type)
  const all = place.parts(plain).reduce(
    (found, one) => found.concat(place.checker.getPropertiesOfType(place.checker.getApparentType(one))), [])
  return all.map(one => one.name).filter(isName)
}

/** Return the exported names of the module of an import. */
function exportsOf (place, specifier) {
  const { ts, checker } = place
  const declaration = place.up(specifier, one => ts.isImportDeclaration(one) || ts.isExportDeclaration(one))
  const from = declaration && declaration.moduleSpecifier
  const symbol = from && checker.getSymbolAtLocation(from)
  return symbol ? checker.getExportsOfModule(symbol).map(one => one.name).filter(isName) : []
}

/** Return the members of the bases and interfaces of a class. */
function inherited (place, member) {
  const names = []
  for (const clause of member.parent.heritageClauses || []) {
    for (const one of clause.types) names.push(...members(place, place.typeOf(one)))
  }
  const own = new Set(member.parent.members.map(one => one.name && one.name.text))
  return names.filter(name => !own.has(name))
}

/** Return the strings that a place expects, or the keys of the object that it indexes. */
function literals (place, node) {
  const { ts } = place
  if (ts.isElementAccessExpression(node.parent)) {
    return members(place, place.typeOf(node.parent.expression))
  }
  if (ts.isLiteralTypeNode(node.parent)) return [...keys(place, node), ...neighbourLiterals(place, node)]
  const type = place.expected(node)
  const all = type ? place.parts(type).filter(one => one.isStringLiteral()).map(one => one.value) : []
  const given = new Set(listed(place, node))
  const left = all.filter(one => !given.has(one))
  return left.length ? left : all
}

/** Return the strings beside one in its list, or in the cases of its switch. */
function listed ({ ts }, node) {
  const { parent } = node
  const items = ts.isArrayLiteralExpression(parent) ? [...parent.elements]
    : ts.isCaseClause(parent) ? parent.parent.clauses.map(one => one.expression) : []
  return items.filter(one => one && one !== node && ts.isStringLiteralLike(one)).map(one => one.text)
}

/** Return the keys of the other types of `Pick`, `Omit` and the like. */
function keys (place, node) {
  const reference = place.up(node, one => place.ts.isTypeReferenceNode(one) && one.typeArguments)
  const others = reference ? reference.typeArguments.filter(one => one.getEnd() < node.getStart()) : []
  return others.reduce(
    (found, one) => found.concat(members(place, place.checker.getTypeFromTypeNode(one))), [])
}

/** Return the strings of the file, for a misspelt member of a union. */
function neighbourLiterals (place, node) {
  const found = []
  const visit = one => {
    if (place.ts.isStringLiteral(one)) found.push(one.text)
    place.ts.forEachChild(one, visit)
  }
  visit(node.getSourceFile())
  return found
}

module.exports = { NAME, propose }
