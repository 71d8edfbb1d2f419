'use strict'
// The projects that a command of tsc checks, as warm language services with edited texts.

const fs = require('fs')
const path = require('path')

/** Return the configurations of a command: root files, options and references of each project. */
function readProjects (ts, folder, args) {
  const isBuild = args.some(word => word === '-b' || word === '--build')
  if (isBuild) {
    const named = args.filter(word => !word.startsWith('-'))
    return withReferences(ts, (named.length ? named : ['.']).map(name => path.resolve(folder, name)))
  }
  const parsed = ts.parseCommandLine(args, ts.sys.readFile)
  if (parsed.fileNames.length && !parsed.options.project) {
    return [{ ...parsed, fileNames: parsed.fileNames.map(name => path.resolve(folder, name)) }]
  }
  const given = parsed.options.project && path.resolve(folder, parsed.options.project)
  const file = given ? configOf(given) : ts.findConfigFile(folder, ts.sys.fileExists)
  return file ? [readConfig(ts, file, parsed.options)].filter(Boolean) : []
}

/** Return projects and everything that they refer to, each once. */
function withReferences (ts, names) {
  const found = new Map()
  const waiting = names.map(configOf)
  while (waiting.length) {
    const file = waiting.shift()
    if (found.has(file)) continue
    const config = readConfig(ts, file, {})
    found.set(file, config)
    for (const reference of (config && config.projectReferences) || []) {
      waiting.push(ts.resolveProjectReferencePath(reference))
    }
  }
  return [...found.values()].filter(Boolean)
}

function configOf (name) {
  return fs.existsSync(name) && fs.statSync(name).isDirectory() ? path.join(name, 'tsconfig.json') : name
}

function readConfig (ts, file, options) {
  const host = { ...ts.sys, onUnRecoverableConfigFileDiagnostic: () => {} }
  return ts.getParsedCommandLineOfConfigFile(file, options, host)
}

/** The texts of files, as they are on disk or as a candidate changes them. */
class Texts {
  constructor () {
    this._disk = new Map()
    this._changed = new Map()
    this._versions = new Map()
  }

  read (file) {
    return this._changed.has(file) ? this._changed.get(file) : this.original(file)
  }

  /** Return the text of a file without any candidate; undefined if it cannot be read. */
  original (file) {
    if (!this._disk.has(file)) {
      let text
      try {
        // A byte order mark stays, so that positions are those of the file.
        text = fs.readFileSync(file, 'utf8')
      } catch (error) {
        text = undefined
      }
      this._disk.set(file, text)
    }
    return this._disk.get(file)
  }

  version (file) {
    return String(this._versions.get(file) || 0)
  }

  /** Replace the changed texts by others. */
  change (texts) {
    for (const file of new Set([...this._changed.keys(), ...texts.keys()])) {
      if (this._changed.get(file) !== texts.get(file)) {
        this._versions.set(file, (this._versions.get(file) || 0) + 1)
      }
    }
    this._changed = new Map(texts)
  }
}

/** Return how comments are read: as tsc reads them, since no error of types is in the others. */
function readComments (ts) {
  // TypeScript 5.3 and later have the choice.
  return ts.JSDocParsingMode && ts.JSDocParsingMode.ParseForTypeErrors
}

/** Return a language service of one project. */
function openService (ts, folder, config, texts, registry) {
  const host = {
    jsDocParsingMode: readComments(ts),
    getScriptFileNames: () => config.fileNames,
    getScriptVersion: file => texts.version(file),
    getScriptSnapshot: file => {
      const text = texts.read(file)
      return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text)
    },
    getCurrentDirectory: () => folder,
    getCompilationSettings: () => config.options,
    getProjectReferences: () => config.projectReferences,
    useSourceOfProjectReferenceRedirect: () => true,
    getDefaultLibFileName: options => ts.getDefaultLibFilePath(options),
    useCaseSensitiveFileNames: () => ts.sys.useCaseSensitiveFileNames,
    fileExists: ts.sys.fileExists,
    readFile: file => texts.read(file),
    readDirectory: ts.sys.readDirectory,
    directoryExists: ts.sys.directoryExists,
    getDirectories: ts.sys.getDirectories,
    realpath: ts.sys.realpath
  }
  return ts.createLanguageService(host, registry)
}

/** Return the diagnostics of one file that make the command red. */
function diagnose (ts, service, file) {
  const found = service.getSyntacticDiagnostics(file)
  return (found.length ? found : service.getSemanticDiagnostics(file))
    .filter(each => each.category === ts.DiagnosticCategory.Error && each.file)
}

/** All projects of a command. */
class Workspace {
  constructor (ts, root, folder, args) {
    this.ts = ts
    this.root = root
    this.texts = new Texts()
    const registry = ts.createDocumentRegistry(true, folder, readComments(ts))
    this.services = readProjects(ts, folder, args)
      .filter(config => config.fileNames.length)
      .map(config => openService(ts, folder, config, this.texts, registry))
  }

  /** Return whether a file belongs to the checkout. */
  isOwn (file) {
    return file.startsWith(this.root + path.sep) && !file.includes('/node_modules/')
  }

  /** Return the checked files of a service. */
  files (service) {
    return service.getProgram().getSourceFiles()
      .map(file => file.fileName).filter(name => this.isOwn(name))
  }

  /** Return the diagnostics of some files, or of all, each with its service and key. */
  check (only) {
    const found = new Map()
    for (const service of this.services) {
      for (const file of this.files(service)) {
        if (only && !only.has(file)) continue
        for (const diagnostic of diagnose(this.ts, service, file)) {
          const key = keyOf(this.ts, diagnostic)
          const place = `${diagnostic.start}:${key}`
          if (!found.has(place)) found.set(place, { diagnostic, service, key })
        }
      }
    }
    return [...found.values()]
  }
}

/** Return what stays the same about a diagnostic when code before it moves. */
function keyOf (ts, diagnostic) {
  const text = ts.flattenDiagnosticMessageText(diagnostic.messageText, '\n')
  return `${diagnostic.file.fileName}:${diagnostic.code}:${text}`
}

module.exports = { Workspace }
