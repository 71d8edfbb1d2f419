'use strict'
// A wrong import: another file, a default for a named import, `import type` for a value.

const path = require('path')
const { nearest } = require('../place.cjs')

const NAME = 'ts_import'
const MAX_FILES = 8

/** Yield corrections of the import around a diagnostic. */
function * propose (place) {
  const { ts } = place
  yield * asValues(place)
  const declaration = place.up(place.node, one => ts.isImportDeclaration(one) || ts.isExportDeclaration(one))
  if (!declaration || !declaration.moduleSpecifier) return
  yield * files(place, declaration.moduleSpecifier)
  const clause = declaration.importClause
  if (!clause) return
  if (clause.name && !clause.namedBindings) {
    const name = clause.name.getText()
    yield { cost: 0.2, edits: [place.replace(clause.name, `{ ${name} }`)] }
    yield { cost: 0.3, edits: [place.replace(clause.name, `* as ${name}`)] }
  }
  const named = clause.namedBindings
  if (named && ts.isNamedImports(named) && named.elements.length === 1) {
    yield { cost: 0.25, edits: [place.replace(named, named.elements[0].getText())] }
  }
  if (named && ts.isNamespaceImport(named)) {
    yield { cost: 0.3, edits: [place.replace(named, named.name.getText())] }
    yield { cost: 0.35, edits: [place.replace(named, `{ ${named.name.getText()} }`)] }
  }
}

/** Yield other files of the project for the file of an import. */
function * files (place, specifier) {
  const given = specifier.text
  if (!given.startsWith('.')) return
  const folder = path.dirname(place.path)
  const suffix = /\.[cm]?jsx?$|\.tsx?$/.exec(given)
  const names = []
  for (const file of place.workspace.files(place.service)) {
    if (file === place.path || file.endsWith('.d.ts')) continue
    let name = path.relative(folder, file).replace(/\.([cm]?)tsx?$/, suffix ? suffix[0] : '')
    if (!suffix) name = name.replace(/\/index$/, '')
    names.push(name.startsWith('.') ? name : `./${name}`)
  }
  const quote = place.text[specifier.getStart()]
  for (const { name, apart } of nearest(given, names, MAX_FILES)) {
    yield { cost: 0.1 + 0.5 * apart, edits: [place.replace(specifier, quote + name + quote)] }
  }
}

/** Yield the import of a value that is imported as a type. */
function * asValues (place) {
  const { ts } = place
  for (const info of place.diagnostic.relatedInformation || []) {
    if (!info.file || info.file.fileName !== place.path) continue
    const node = place.nodeAt(place.file, info.start, info.start + info.length)
    const clause = place.up(node, one => ts.isImportSpecifier(one) && one.isTypeOnly) ||
      place.up(node, one => ts.isImportClause(one) && one.isTypeOnly)
    if (!clause) continue
    const start = clause.getStart()
    const length = /^type\s+/.exec(place.text.slice(start, start + 40))
    if (length) {
      yield { cost: 0.15, edits: [{ file: place.path, start, end: start + length[0].length, text: '' }] }
    }
  }
}

module.exports = { NAME, propose }
