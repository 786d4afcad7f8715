import t from 'tap'
import { foreignCalls, foreignCases, listUndecidedFields } from '../support/foreign-ids.ts'
import { governanceScene } from '../support/governance.ts'

t.test('every id that an operation accepts has a declared owner', async t => {
  t.strictSame(listUndecidedFields(), [])
  t.ok(foreignCases().filter(({ isPath }) => isPath).length >= 14)
})

t.test('no operation distinguishes an id of another tenant from an unknown id', async t => {
  let n = 0
  const below = (limit: number) => n++ % limit
  const cases = foreignCases().length
  // each is two calls, and a key has 300 a minute
  for (let first = 0; first < cases; first += 100) {
    const count = Math.min(100, cases - first)
    const scene = await governanceScene(t)
    t.strictSame(await foreignCalls(scene, { count, below, first }), [])
  }
})
