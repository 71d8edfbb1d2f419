'use strict'
// Signed records on file descriptor 3, in the format of `sandbox/guest/record_channel.py`.
//
// This file is loaded before any code of the repository. It keeps its own references to everything
// that it calls, so that replaced built-in functions have no effect on what is written.

const crypto = require('crypto')
const fs = require('fs')
const zlib = require('zlib')

const uncurry = Function.prototype.bind.bind(Function.prototype.call)
const { apply, ownKeys } = Reflect
const { writeSync, readSync, closeSync, fstatSync } = fs
const { stringify, parse } = JSON
const { isArray } = Array
const { isFinite: isFiniteNumber } = Number
const textOf = String
const slice = uncurry(String.prototype.slice)
const { createHmac } = crypto
const update = uncurry(crypto.Hmac.prototype.update)
const digest = uncurry(crypto.Hmac.prototype.digest)
const deflate = zlib.deflateSync
const bufferFrom = Buffer.from.bind(Buffer)
const bufferConcat = Buffer.concat.bind(Buffer)
const bufferText = uncurry(Buffer.prototype.toString)
const bufferCut = uncurry(Buffer.prototype.subarray || Buffer.prototype.slice)

const START = '000000000000'
const ESSENTIAL_BYTES = 3900000
const DETAIL_BYTES = 2300000
const RESULTS = 3

/** Return a value of ours as JSON; `toJSON` of a polluted prototype is never asked. */
function encode (value) {
  if (value === null || value === undefined) return 'null'
  switch (typeof value) {
    case 'string': return stringify(value)
    case 'number': return isFiniteNumber(value) ? textOf(value) : '0'
    case 'boolean': return value ? 'true' : 'false'
    case 'object': break
    default: return 'null'
  }
  let text = ''
  if (isArray(value)) {
    for (let index = 0; index < value.length; index += 1) {
      text += (index ? ',' : '') + encode(value[index])
    }
    return '[' + text + ']'
  }
  const keys = ownKeys(value)
  for (let index = 0; index < keys.length; index += 1) {
    text += (index ? ',' : '') + stringify(keys[index]) + ':' + encode(value[keys[index]])
  }
  return '{' + text + '}'
}

/** Return our configuration from standard input, and leave an empty one to the tests. */
function readConfig () {
  const parts = []
  const room = Buffer.alloc(65536)
  for (;;) {
    let count = 0
    try {
      count = readSync(0, room, 0, room.length, null)
    } catch (error) {
      if (error.code === 'EAGAIN') continue
      if (error.code !== 'EOF') throw error
    }
    if (count === 0) break
    parts.push(bufferFrom(bufferCut(room, 0, count)))
  }
  closeSync(0)
  fs.openSync('/dev/null', 'r') // the lowest free descriptor is 0
  return parse(bufferText(bufferConcat(parts), 'utf8'))
}

/** Return the function that signs and writes a record; it returns whether there was room. */
function openChannel (key) {
  const secret = bufferFrom(key, 'hex')
  let previous = START
  let written = 0
  let open = true
  return function send (record, isDetail) {
    const payload = encode(record)
    if (!open || written + payload.length * 2 > (isDetail ? DETAIL_BYTES : ESSENTIAL_BYTES)) {
      return false
    }
    const signing = createHmac('sha256', secret)
    update(signing, previous + payload, 'utf8')
    previous = slice(digest(signing, 'hex'), 0, START.length)
    let line = bufferFrom(previous + ' ' + payload + '\n', 'utf8')
    written += line.length
    try {
      while (line.length > 0) line = bufferCut(line, writeSync(RESULTS, line, 0, line.length))
    } catch (error) {
      if (error.code !== 'EAGAIN') open = false
    }
    return open
  }
}

/** Return names as the packed form of an `items` record. */
function packNames (names) {
  return bufferText(deflate(bufferFrom(encode(names), 'utf8')), 'base64')
}

/** Return whether our host waits for records. */
function hasChannel () {
  try {
    fstatSync(RESULTS)
    return true
  } catch (error) {
    return false
  }
}

module.exports = { apply, bufferText, encode, hasChannel, openChannel, packNames, readConfig }
