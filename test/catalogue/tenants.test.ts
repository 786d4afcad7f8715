import t from 'tap'
import { foreignCalls, ownedOperations, undecidedFields } from '../support/foreign-ids.ts'
import { governanceScene } from '../support/governance.ts'

t.test('of every id in a path somebody has said whose it is', async t => {
  t.strictSame(undecidedFields(), [])
  t.ok(ownedOperations().length >= 9)
})

t.test(
  'no operation tells a stranger an id of another tenant from one that is not there',
  async t => {
    const scene = await governanceScene(t)
    let n = 0
    const below = (limit: number) => n++ % limit
    t.strictSame(await foreignCalls(scene, { count: 40, below }), [])
  },
)
