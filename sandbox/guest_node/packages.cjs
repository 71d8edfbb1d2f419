'use strict'
// Find the project's own test runner.

const fs = require('fs')
const path = require('path')

/** Return the real folder of a package as the working directory sees it; undefined without it. */
function findPackage (name) {
  for (let folder = process.cwd(); ; folder = path.dirname(folder)) {
    const place = path.join(folder, 'node_modules', name)
    if (fs.existsSync(path.join(place, 'package.json'))) return fs.realpathSync(place)
    if (folder === path.dirname(folder)) return undefined
  }
}

/** Return a package that another one depends on. */
function findBeside (folder, name) {
  try {
    const entry = require.resolve(name + '/package.json', { paths: [folder] })
    return path.dirname(fs.realpathSync(entry))
  } catch (error) {
    return undefined
  }
}

/** Return the manifest of a package. */
function manifest (folder) {
  return JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8'))
}

module.exports = { findBeside, findPackage, manifest }
