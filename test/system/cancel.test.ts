import t from 'tap'
import { cancelIn, PHASES } from '../support/cancelling.ts'
import { startInOneProcess } from '../support/one-process-stack.ts'

/** How fast that goes is measured by `npm run prove -- cancel`. */
t.test('every resource of a client is free after it disconnects', async t => {
  const slots = 2
  const stack = await startInOneProcess({ slots, queue_factor: 2 })
  t.teardown(stack.stop)
  for (const phase of PHASES)
    t.test(`the client disconnects in phase ${phase}`, async t => {
      const waves = await cancelIn(stack, phase, { slots, queue: 2 * slots }, 6)
      t.ok(waves.length > 0)
    })
})
