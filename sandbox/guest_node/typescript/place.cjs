'use strict'
// A diagnostic with its syntax and types, and the questions that templates ask about them.

const MAX_NAMES = 400

/** The place of a diagnostic. */
class Place {
  constructor (workspace, service, diagnostic) {
    this.ts = workspace.ts
    this.workspace = workspace
    this.service = service
    this.program = service.getProgram()
    this.checker = this.program.getTypeChecker()
    this.file = this.program.getSourceFile(diagnostic.file.fileName)
    this.path = this.file.fileName
    this.text = this.file.text
    this.code = diagnostic.code
    this.diagnostic = diagnostic
    this.start = diagnostic.start
    this.end = diagnostic.start + (diagnostic.length || 0)
    this.node = this.nodeAt(this.file, this.start, this.end)
    const count = quote => this.text.split(quote).length
    this.quote = count('"') > count("'") ? '"' : "'"
    this.semicolon = /;\s*$/m.test(this.text.slice(0, 4000)) ? ';' : ''
    this.uses = new Map()
    this.expressions = this.findExpressions()
  }

  /** Return the smallest node that covers a span. */
  nodeAt (file, start, end) {
    let found = file
    const visit = node => {
      if (node.getStart(file) <= start && end <= node.getEnd()) {
        found = node
        this.ts.forEachChild(node, visit)
      }
    }
    this.ts.forEachChild(file, visit)
    return found
  }

  /** Return the nearest ancestor, or the node itself, that a test accepts. */
  up (node, accepts) {
    for (let now = node; now && now !== this.file; now = now.parent) {
      if (accepts(now)) return now
    }
    return undefined
  }

  /** Return the expressions that the diagnostic is about, the nearest first. */
  findExpressions () {
    const { ts, node } = this
    const found = []
    const add = one => {
      if (one && !found.includes(one)) found.push(one)
    }
    const isExpression = one => ts.isExpression ? ts.isExpression(one) : ts.isExpressionNode(one)
    if (isExpression(node)) add(node)
    const parent = node.parent
    for (const holder of [node, parent]) {
      if (!holder) continue
      if (holder.initializer && isExpression(holder.initializer) && holder.name) add(holder.initializer)
      if (ts.isReturnStatement(holder)) add(holder.expression)
      if (ts.isShorthandPropertyAssignment(holder)) add(holder.name)
      if (ts.isBinaryExpression(holder)) [holder.right, holder.left].forEach(add)
      if (ts.isArrowFunction(holder) && !ts.isBlock(holder.body)) add(holder.body)
      if (ts.isPropertyAccessExpression(holder) || ts.isElementAccessExpression(holder)) {
        add(holder.expression)
        add(holder)
      }
      if (ts.isCallExpression(holder) || ts.isNewExpression(holder)) {
        if (holder === node || holder.expression === node) (holder.arguments || []).forEach(add)
        add(holder)
      }
      if (ts.isForOfStatement(holder) || ts.isSpreadElement(holder)) add(holder.expression)
      if (ts.isPrefixUnaryExpression(holder)) add(holder.operand)
      if (ts.isCaseClause(holder)) add(holder.expression)
      if (ts.isJsxAttribute && ts.isJsxAttribute(holder) && holder.initializer) {
        add(holder.initializer.expression || holder.initializer)
      }
    }
    // The list grows while it is read.
    for (const one of found) {
      if (found.length > 30) break
      if (ts.isConditionalExpression(one)) [one.whenTrue, one.whenFalse].forEach(add)
      if (ts.isBinaryExpression(one)) [one.left, one.right].forEach(add)
      if (ts.isAwaitExpression(one) || ts.isParenthesizedExpression(one)) add(one.expression)
      if (ts.isCallExpression(one) && ts.isPropertyAccessExpression(one.expression)) {
        add(one.expression.expression)
      }
      if (ts.isPropertyAccessExpression(one)) add(one.expression)
      if (ts.isTemplateExpression(one)) one.templateSpans.forEach(span => add(span.expression))
      if (ts.isIdentifier(one)) {
        const initializer = this.initializerOf(one)
        if (initializer && !this.uses.has(initializer)) this.uses.set(initializer, one)
        add(initializer)
      }
    }
    return found.filter(isExpression).slice(0, 14)
  }

  /** Return the value that a variable of the checkout is declared with, or undefined. */
  initializerOf (identifier) {
    const isShort = this.ts.isShorthandPropertyAssignment(identifier.parent)
    const symbol = isShort
      ? this.checker.getShorthandAssignmentValueSymbol(identifier.parent)
      : this.checker.getSymbolAtLocation(identifier)
    const declaration = symbol && symbol.valueDeclaration
    const isVariable = declaration && this.ts.isVariableDeclaration(declaration)
    return isVariable && declaration.getSourceFile() === this.file ? declaration.initializer : undefined
  }

  /** Return the type that a place expects of an expression, or undefined. */
  expected (expression) {
    const { ts, checker } = this
    const parent = expression.parent
    if (ts.isBinaryExpression(parent)) {
      const other = parent.left === expression ? parent.right : parent.left
      const kind = parent.operatorToken.kind
      if (kind === ts.SyntaxKind.EqualsToken) return checker.getTypeAtLocation(parent.left)
      const isComparison = kind >= ts.SyntaxKind.EqualsEqualsToken &&
        kind <= ts.SyntaxKind.ExclamationEqualsEqualsToken
      if (isComparison) return checker.getTypeAtLocation(other)
      const isLogical = [ts.SyntaxKind.BarBarToken, ts.SyntaxKind.QuestionQuestionToken,
        ts.SyntaxKind.AmpersandAmpersandToken].includes(kind)
      if (!isLogical) return checker.getTypeAtLocation(other)
    }
    if (ts.isCaseClause(parent)) return checker.getTypeAtLocation(parent.parent.parent.expression)
    if (ts.isShorthandPropertyAssignment(parent)) {
      const holder = checker.getContextualType(parent.parent)
      const property = holder && checker.getPropertyOfType(holder, expression.text)
      if (property) return this.symbolType(property, expression)
    }
    const type = checker.getContextualType(expression)
    if (type) return type
    // The value of a variable without a type must be what its use expects.
    const use = this.uses.get(this.up(expression, one => this.uses.has(one)))
    return use && use !== expression ? this.expected(use) : undefined
  }

  /** Return what a symbol of an import stands for. */
  follow (symbol) {
    const isAlias = symbol && symbol.flags & this.ts.SymbolFlags.Alias
    return isAlias ? this.checker.getAliasedSymbol(symbol) : symbol
  }

  typeOf (node) {
    return this.checker.getTypeAtLocation(node)
  }

  /** Return whether a type fits another; true if this TypeScript has no such check. */
  fits (type, wanted) {
    if (!wanted || !this.checker.isTypeAssignableTo) return true
    if (type.flags & (this.ts.TypeFlags.Any | this.ts.TypeFlags.Never)) return false
    return this.checker.isTypeAssignableTo(type, wanted)
  }

  /** Return the variables and parameters that a place can use, the nearest first. */
  variables (node) {
    const { ts } = this
    return this.checker.getSymbolsInScope(node, ts.SymbolFlags.Value | ts.SymbolFlags.Alias)
      .filter(symbol => this.follow(symbol).flags & ts.SymbolFlags.Value)
      .filter(symbol => this.isOwnSymbol(symbol) && this.isBefore(symbol, node)).slice(0, MAX_NAMES)
  }

  isOwnSymbol (symbol) {
    const declarations = symbol.declarations || []
    return declarations.some(one => this.workspace.isOwn(one.getSourceFile().fileName))
  }

  /** Return whether a symbol is declared outside of the statement that uses it. */
  isBefore (symbol, node) {
    const declaration = symbol.valueDeclaration
    if (!declaration || declaration.getSourceFile() !== this.file) return true
    return !this.ts.isVariableDeclaration(declaration) || declaration.getEnd() <= node.getStart() ||
      declaration.getStart() > node.getEnd()
  }

  isLocal (symbol) {
    const declaration = symbol.valueDeclaration
    return Boolean(declaration && declaration.getSourceFile() === this.file)
  }

  symbolType (symbol, node) {
    return this.checker.getTypeOfSymbolAtLocation(symbol, node)
  }

  /** Return the type that a function returns or promises; undefined if it is unknown. */
  returnType (node) {
    const signature = this.checker.getSignatureFromDeclaration(node)
    if (!signature) return undefined
    const type = this.checker.getReturnTypeOfSignature(signature)
    const isPromise = this.isPromise(type) && this.checker.getTypeArguments
    return (isPromise && this.checker.getTypeArguments(type)[0]) || type
  }

  /** Return the function around a node. */
  functionAround (node) {
    return this.up(node.parent, one => this.ts.isFunctionLike(one))
  }

  isNullable (type) {
    return this.parts(type).some(one => one.flags & (this.ts.TypeFlags.Undefined | this.ts.TypeFlags.Null))
  }

  /** Return the members of a union, or the type itself. */
  parts (type) {
    return type.isUnion && type.isUnion() ? type.types : [type]
  }

  /** Return whether a type is a promise. */
  isPromise (type) {
    return this.parts(type).some(one => one.symbol && one.symbol.name === 'Promise')
  }

  /** Return an edit that replaces a node. */
  replace (node, text) {
    return {
      file: node.getSourceFile().fileName, start: node.getStart(), end: node.getEnd(), text
    }
  }

  /** Return the edits that exchange two nodes. */
  exchange (a, b) {
    return [this.replace(a, b.getText()), this.replace(b, a.getText())]
  }

  /** Return an edit that removes one of the items of a list with its comma. */
  removeItem (items, at) {
    const start = at ? items[at - 1].getEnd() : items[0].getStart()
    const end = at || items.length === 1 ? items[at].getEnd() : items[1].getStart()
    return { file: this.path, start, end, text: '' }
  }

  /** Return an edit that replaces an expression, also in `{ name }`. */
  replaceValue (expression, text) {
    const isShort = this.ts.isShorthandPropertyAssignment(expression.parent)
    return this.replace(expression, isShort ? `${expression.getText()}: ${text}` : text)
  }

  /** Return the name of what takes the value of an expression: a parameter, property or variable. */
  receiver (expression) {
    const { ts, checker } = this
    const parent = expression.parent
    if (ts.isCallExpression(parent) || ts.isNewExpression(parent)) {
      const signature = checker.getResolvedSignature(parent)
      const at = (parent.arguments || []).indexOf(expression)
      const parameter = signature && signature.parameters && signature.parameters[at]
      return parameter ? parameter.name : ''
    }
    if (parent.name && parent.name !== expression && parent.name.text) return parent.name.text
    return ts.isShorthandPropertyAssignment(parent) ? expression.getText() : ''
  }

  /** Return whether the checkout compares a name with `undefined` or `null`. */
  isChecked (name, value) {
    if (!isName(name)) return false
    const word = `(?<![\\w$])${name.replace(/\$/g, '\\$&')}`
    const pattern = new RegExp(`${word}\\s*(?:[!=]==?\\s*${value}\\b|\\?\\?|\\?\\.)`)
    return this.workspace.files(this.service).some(file => pattern.test(this.workspace.texts.read(file) || ''))
  }

  /** Return the checks of a value that may be missing, as the file writes others first. */
  checks (text, type, isPresent) {
    const { ts } = this
    const kinds = this.parts(type)
    const exact = []
    if (kinds.some(one => one.flags & ts.TypeFlags.Undefined)) exact.push(`${text} ${isPresent ? '!' : '='}== undefined`)
    if (kinds.some(one => one.flags & ts.TypeFlags.Null)) exact.push(`${text} ${isPresent ? '!' : '='}== null`)
    const plain = isPresent ? text : `!${text}`
    // Without a comparison, an empty text, zero and false would count as missing.
    const { String, NumberLike, BooleanLike } = ts.TypeFlags
    if (kinds.some(one => one.flags & (String | NumberLike | BooleanLike))) return [...exact, plain]
    const compared = (this.text.match(/[!=]== (?:undefined|null)/g) || []).length
    const short = (this.text.match(/if \(!?[\w.]+\)/g) || []).length
    return compared > short ? [...exact, plain] : [plain, ...exact]
  }

  /** Return an edit that inserts a text. */
  insert (file, position, text) {
    return { file: file.fileName, start: position, end: position, text }
  }
}

function isName (name) {
  return /^[A-Za-z_$][\w$]*$/.test(name)
}

/** Return how far two names are apart: 0 for equal ones, 1 for those without a common part. */
function distance (a, b) {
  const [x, y] = [a.toLowerCase(), b.toLowerCase()]
  let last = []
  let row = Array.from({ length: y.length + 1 }, (_, index) => index)
  for (let i = 1; i <= x.length; i += 1) {
    const next = [i]
    for (let j = 1; j <= y.length; j += 1) {
      const same = x[i - 1] === y[j - 1] ? 0 : 1
      next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + same)
      // Two exchanged letters are one mistake (Damerau).
      if (i > 1 && j > 1 && x[i - 1] === y[j - 2] && x[i - 2] === y[j - 1]) {
        next[j] = Math.min(next[j], last[j - 2] + 1)
      }
    }
    last = row
    row = next
  }
  const plain = row[y.length] / Math.max(1, x.length, y.length)
  const isPart = x.length > 2 && y.length > 2 && (x.includes(y) || y.includes(x))
  return isPart ? Math.min(plain, 0.45) : plain
}

/** Return the nearest of some names, each with its distance. */
function nearest (name, names, most) {
  return [...new Set(names)].filter(one => one !== name)
    .map(one => ({ name: one, apart: distance(name, one) }))
    .sort((a, b) => a.apart - b.apart || (a.name < b.name ? -1 : 1)).slice(0, most)
}

module.exports = { Place, distance, isName, nearest }
