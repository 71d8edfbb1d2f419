'use strict'
// Read findings of tsc from stdin and write one proposal per line, as JSON, to descriptor 3.
//
// Standard input contains one JSON object: `root` (the checkout), `args` (of tsc), `findings`,
// `most` (proposals for each finding), `only_clear` and `time_limit_s`. The working directory is that
// of the command. The project's own TypeScript reads the project, as its tsc does; nothing is written.

const fs = require('fs')
const path = require('path')
const { findPackage } = require('../packages.cjs')
const { writeProposal } = require('../proposals.cjs')
const { describe, inBytes, shorten } = require('./edits.cjs')
const { Workspace } = require('./projects.cjs')
const { search } = require('./search.cjs')

/** Share of the time for the search; the rest is for starting and writing. */
const SHARE = 0.85

function main () {
  const started = Date.now()
  const request = JSON.parse(fs.readFileSync(0, 'utf8'))
  const found = findPackage('typescript')
  const ts = found && require(found)
  // TypeScript 7 has no language service in its main module.
  if (!ts || !ts.createLanguageService) return
  const root = fs.realpathSync(request.root)
  const workspace = new Workspace(ts, root, fs.realpathSync(process.cwd()), request.args)
  const until = started + request.time_limit_s * 1000 * SHARE
  for (const proposal of search(workspace, request, () => Date.now() < until)) {
    emit(workspace, proposal)
  }
}

function emit (workspace, proposal) {
  const edits = proposal.edits.map(edit => {
    const text = workspace.texts.read(edit.file)
    const name = path.relative(workspace.root, edit.file)
    return { path: name, ...inBytes(text, shorten(text, edit)) }
  })
  writeProposal({
    finding: proposal.finding,
    template: proposal.template,
    cost: Math.round(proposal.cost * 10000) / 10000,
    is_clear: proposal.isClear,
    edits,
    description: describe(workspace.texts, proposal.edits).slice(0, 200)
  })
}

main()
