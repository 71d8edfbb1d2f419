import { expect, test } from 'vitest'
import { add } from './add'
test('adds', () => { expect(add(1, 2)).toBe(3) })
test('zero', () => { expect(add(1, 0)).toBe(1) })
