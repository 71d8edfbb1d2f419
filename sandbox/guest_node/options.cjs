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
  return { value: values[values.length - 1], rest }
}

/** Return a command's options with their values, without the files to run. */
function withoutFiles (words, valued) {
  const kept = []
  for (let index = 0; index < words.length; index += 1) {
    if (!words[index].startsWith('-')) continue
    kept.push(words[index])
    if (valued.includes(words[index]) && index + 1 < words.length) kept.push(words[(index += 1)])
  }
  return kept
}

module.exports = { split, withoutFiles }
