'use strict'
// Select tests by name: the runners match a regular expression with a test's titles.

const path = require('path')

/** Return text as a regular expression that matches just it. */
function escape (text) {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
}

/** Return the files of the requested tests, as absolute paths. */
function targetFiles (config) {
  const places = config.targets.map((name) => name.split('::', 1)[0])
  return Array.from(new Set(places)).map((place) => path.resolve(config.root, place))
}

/**
 * Return the pattern for the requested tests and the canaries; empty if no name is asked for.
 *
 * @param own The pattern of the command, which the request replaces.
 */
function namePattern (config, own) {
  const titled = config.targets.filter((name) => name.includes('::'))
  // A whole file was requested: all of its tests run.
  const isPlain = config.targets.length > titled.length
  if (config.targets.length > 0 && isPlain) return ''
  const canaries = config.canaries.map(escape).join('|')
  if (titled.length === 0) return own ? `(?:${own})|${canaries}` : ''
  const titles = titled.map((name) => name.slice(name.indexOf('::') + 2))
  // A title may contain the separator itself.
  const patterns = titles.map((title) => title.split(' > ').map(escape).join(' (?:> )?'))
  return `^(?:${patterns.join('|')})$|${canaries}`
}

/** Return the pattern for a runner that may match a test's own title only. */
function titlePattern (config, own) {
  const titled = config.targets.filter((name) => name.includes('::'))
  if (titled.length === 0) return namePattern(config, own)
  const titles = titled.map((name) => escape(name.slice(name.indexOf('::') + 2).split(' > ').pop()))
  return `(?:^| )(?:${titles.join('|')})$|${config.canaries.map(escape).join('|')}`
}

module.exports = { namePattern, targetFiles, titlePattern }
