'use strict'
// Edits of texts: applied, described, and measured in bytes.

/** Return a text with edits, or undefined if they overlap. */
function apply (text, edits) {
  const sorted = [...edits].sort((a, b) => a.start - b.start || a.end - b.end)
  let result = ''
  let at = 0
  for (const edit of sorted) {
    if (edit.start < at || edit.end < edit.start || edit.end > text.length) return undefined
    result += text.slice(at, edit.start) + edit.text
    at = edit.end
  }
  return result + text.slice(at)
}

/** Return the texts of all edited files, or undefined if the edits change nothing. */
function applyAll (texts, edits) {
  const changed = new Map()
  for (const file of new Set(edits.map(edit => edit.file))) {
    const before = texts.read(file)
    if (before === undefined) return undefined
    const after = apply(before, edits.filter(edit => edit.file === file))
    if (after === undefined) return undefined
    if (after !== before) changed.set(file, after)
  }
  return changed.size ? changed : undefined
}

/** Return an edit without the ends that it shares with the text that it replaces. */
function shorten (text, edit) {
  const old = text.slice(edit.start, edit.end)
  const most = Math.min(old.length, edit.text.length)
  let head = 0
  while (head < most && old[head] === edit.text[head]) head += 1
  let tail = 0
  while (tail < most - head && old[old.length - 1 - tail] === edit.text[edit.text.length - 1 - tail]) {
    tail += 1
  }
  // A character of two code units must not be split.
  if (/[\ud800-\udfff]/.test(old + edit.text)) return edit
  return {
    file: edit.file,
    start: edit.start + head,
    end: edit.end - tail,
    text: edit.text.slice(head, edit.text.length - tail)
  }
}

/** Return an edit with positions in bytes. */
function inBytes (text, edit) {
  const start = Buffer.byteLength(text.slice(0, edit.start))
  return {
    start, end: start + Buffer.byteLength(text.slice(edit.start, edit.end)), text: edit.text
  }
}

/** Return a sentence about edits. */
function describe (texts, edits) {
  const edit = edits.reduce((best, one) => one.text.length > best.text.length ? one : best)
  const text = texts.read(edit.file)
  const line = text.slice(0, edit.start).split('\n').length
  const [old, now] = [text.slice(edit.start, edit.end), edit.text]
    .map(part => part.split(/\s+/).join(' ').trim().slice(0, 60))
  if (!old) return `line ${line}: \`${now}\` added`
  if (!now) return `line ${line}: \`${old}\` removed`
  return `line ${line}: \`${old}\` became \`${now}\``
}

module.exports = { applyAll, describe, inBytes, shorten }
