'use strict'
// Take options out of a command's arguments.

/**
 * Split arguments into the values of some options and the rest.
 *
 * @param args The arguments.
 * @param valued Names of options with a value, such as `-t`.
 * @param flags Names of options to drop.
 * @param dropped Names of options to drop with their value.
 */
function split (args, valued, flags, dropped) {
  const values = []
  const rest = []
  for (let index = 0; index < args.length; index += 1) {
    const [name, ...more] = args[index].split('=')
    const isValued = valued.includes(name)
    if (isValued || (dropped || []).includes(name)) {
      const value = more.length > 0 ? more.join('=') : args[(index += 1)]
      if (isValued) values.push(value)
    } else if (!flags.includes(name)) {
      rest.push(args[index])
    }
  }
  return { values, value: values[values.length - 1], rest }
}

/** Divide a command's words into options with their values, and the files to run. */
function divide (words, valued) {
  const options = []
  const files = []
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index]
    if (word === '--') {
      files.push(...words.slice(index + 1))
      break
    }
    if (!word.startsWith('-')) {
      files.push(word)
      continue
    }
    options.push(word)
    if (valued.includes(word) && index + 1 < words.length) options.push(words[(index += 1)])
  }
  return { options, files }
}

module.exports = { divide, split }
