'use strict'
// Notice code that replaces what decides how a test ends.

/**
 * Return what was replaced, a list that grows; nothing can be put back unnoticed.
 *
 * The function is also written into vitest's workers as text, so that it uses nothing around it.
 *
 * @param places Labels and objects; `names` limits an object's functions to these.
 * @param gate While its `isOpen` is true, functions may be replaced.
 */
function seal (places, gate) {
  const found = []
  const { defineProperty, getOwnPropertyDescriptor, getOwnPropertyNames } = Object
  for (const { label, object, names } of places) {
    for (const name of names || getOwnPropertyNames(object)) {
      const descriptor = getOwnPropertyDescriptor(object, name)
      if (!descriptor || !descriptor.configurable) continue
      if (typeof descriptor.value !== 'function') continue
      let { value } = descriptor
      if (name === 'constructor' || name === 'prototype') continue
      defineProperty(object, name, {
        enumerable: descriptor.enumerable,
        configurable: false,
        get: () => value,
        set: (other) => {
          if (other === value) return
          const isAllowed = gate && gate.isOpen
          if (!isAllowed && found.length < 20) found[found.length] = label + name
          value = other
        }
      })
    }
  }
  return found
}

const REGISTERING = ['it', 'test', 'describe', 'context', 'specify', 'suite', 'expect', 'before',
  'after', 'beforeEach', 'afterEach', 'beforeAll', 'afterAll']

/** Return the places of a realm: its builtin functions and its globals of tests. */
function realmPlaces (realm) {
  return [
    { label: 'Object.', object: realm.Object, names: ['is'] },
    { label: 'Array.', object: realm.Array, names: ['isArray'] },
    { label: '', object: realm, names: REGISTERING }
  ]
}

/** Return the places of Node's own assertions. */
function assertPlaces () {
  const assert = require('assert')
  return [{ label: 'assert.', object: assert }, { label: 'assert.strict.', object: assert.strict }]
}

module.exports = { REGISTERING, assertPlaces, realmPlaces, seal }
