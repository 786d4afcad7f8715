import t from 'tap'
import { playMonthEnd } from '../prove/support/month-end.ts'

/* `npm run prove -- quota` is the same with more clients and more kills. */

t.test('parallel clients get exactly the remainder of a month', async t => {
  const plan = { clients: 32, limit: 2000, left: 150, kills: 0 }
  t.strictSame(await playMonthEnd(plan), {
    served: 150,
    answered: 150,
    refused: 32,
    reserved: 2000,
  })
})

t.test('parallel clients never get more when the coordinator is killed', async t => {
  const plan = { clients: 32, limit: 2000, left: 150, kills: 1 }
  const { served, answered, reserved } = await playMonthEnd(plan)
  t.ok(served <= 150, `${served} served`)
  t.ok(answered <= served, `${answered} answered`)
  t.equal(reserved, 2000)
  t.ok(served >= 150 - (32 + 32), `${served} served: a kill loses what was leased, no more`)
})
