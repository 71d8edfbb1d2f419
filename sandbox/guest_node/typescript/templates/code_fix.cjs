'use strict'
// A correction that TypeScript's own language service offers.

const NAME = 'code_fix'
const USUAL = 0.6
/** An import of types beside values. */
const INLINE = /import \{[^}]*\btype [A-Za-z_$]/
const COSTS = {
  spelling: 0.1,
  import: 0.15,
  forgottenThisPropertyAccess: 0.15,
  addMissingAwait: 0.2,
  fixAwaitInSyncFunction: 0.2,
  addMissingAsync: 0.25,
  returnValueCorrect: 0.25,
  fixConvertConstToLet: 0.2,
  addMissingNewOperator: 0.2,
  addMissingConst: 0.3,
  addMissingDeclareProperty: 0.4,
  fixAddMissingDotDotDot: 0.3,
  fixReturnTypeInAsyncFunction: 0.2,
  fixMissingCallParentheses: 0.25,
  convertToTypeOnlyImport: 0.2,
  fixOverrideModifier: 0.2,
  extendsInterfaceBecomesImplements: 0.2,
  constructorForDerivedNeedSuperCall: 0.2,
  classSuperMustPrecedeThisAccess: 0.3,
  unusedIdentifier: 0.3,
  inferFromUsage: 0.4,
  addOptionalPropertyUndefined: 0.8,
  fixMissingMember: 0.9,
  fixMissingProperties: 0.9,
  addMissingMember: 0.9,
  fixUnreachableCode: 0.9,
  addMissingFunctionDeclaration: 0.9,
  fixMissingFunctionDeclaration: 0.9,
  fixClassDoesntImplementInheritedAbstractMember: 0.9,
  fixClassIncorrectlyImplementsInterface: 0.9
}

/** Yield the code fixes for a diagnostic. */
function * propose (place) {
  const { ts } = place
  const format = { ...ts.getDefaultFormatCodeSettings('\n'), ...layout(place.text) }
  const preferences = {
    importModuleSpecifierPreference: 'shortest',
    quotePreference: 'auto',
    preferTypeOnlyAutoImports: INLINE.test(place.text)
  }
  const fixes = place.service.getCodeFixesAtPosition(
    place.path, place.start, place.end, [place.code], format, preferences)
  let order = 0
  for (const fix of fixes) {
    if (fix.changes.some(change => change.isNewFile)) continue
    const edits = []
    for (const change of fix.changes) {
      for (const { span, newText } of change.textChanges) {
        edits.push({
          file: change.fileName, start: span.start, end: span.start + span.length, text: newText
        })
      }
    }
    const cost = COSTS[fix.fixName] === undefined ? USUAL : COSTS[fix.fixName]
    yield { cost: cost + 0.01 * order, edits }
    order += 1
  }
}

/** Return the indentation and the semicolons of a text as format settings. */
function layout (text) {
  const indent = /\n(\t| {2,8})\S/.exec(text)
  const lines = text.split('\n').filter(line => /[\w)\]'"`;]$/.test(line))
  const ended = lines.filter(line => line.endsWith(';')).length
  return {
    convertTabsToSpaces: !indent || indent[1] !== '\t',
    indentSize: indent && indent[1] !== '\t' ? indent[1].length : 4,
    semicolons: ended * 3 > lines.length ? 'insert' : 'remove'
  }
}

module.exports = { NAME, propose }
