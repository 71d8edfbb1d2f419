'use strict'
// Find the project's own test runner.

const fs = require('fs')
const { builtinModules } = require('module')
const path = require('path')

const isBuiltin = (name) => name.startsWith('node:') || builtinModules.includes(name)

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

// An import of a computed name, of many files, or with a comment before the name.
const UNCLEAR = /\b(?:import|require)\s*\(\s*[^'"`\s)]|\bimport\.meta\.glob|\b(?:from|import)\s*\/[/*]/

const isInstalled = (place) => Boolean(place) && place.includes('/node_modules/')

/** Return whether all that a file imports are Node.js's own modules and installed packages. */
function usesPackagesOnly (file) {
  if (!fs.existsSync(file)) return false
  // Packages of a workspace are links to the project's own code.
  if (isInstalled(fs.realpathSync(file))) return true
  const text = fs.readFileSync(file, 'utf8')
  if (UNCLEAR.test(text)) return false
  const imports = text.matchAll(/\b(?:from|import|require)\s*\(?\s*['"`]([^'"`]+)/g)
  return Array.from(imports, ([, name]) => name).every((name) => {
    const parts = name.split('/').slice(0, name.startsWith('@') ? 2 : 1)
    const isPath = /^[./]/.test(name) || parts.includes('') || parts.includes('..')
    return isBuiltin(name) || (!isPath && isInstalled(findPackage(parts.join('/'))))
  })
}

/** Set what npm and npx set for a program that they start in the working directory. */
function imitateNpm () {
  const { env } = process
  const programs = []
  let project
  for (let folder = process.cwd(); ; folder = path.dirname(folder)) {
    const place = path.join(folder, 'node_modules', '.bin')
    if (fs.existsSync(place)) programs.push(place)
    if (!project && fs.existsSync(path.join(folder, 'package.json'))) project = folder
    if (folder === path.dirname(folder)) break
  }
  env.PATH = [...programs, env.PATH || ''].join(path.delimiter)
  const given = { INIT_CWD: process.cwd() }
  try {
    const { name, version } = manifest(project)
    if (name) given.npm_package_name = String(name)
    if (version) given.npm_package_version = String(version)
  } catch (error) {
    // Without a readable manifest there is nothing to say about the package.
  }
  for (const [variable, value] of Object.entries(given)) {
    if (env[variable] === undefined) env[variable] = value
  }
}

module.exports = { findBeside, findPackage, imitateNpm, manifest, usesPackagesOnly }
