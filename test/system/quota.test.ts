import t from 'tap'
import { playMonthEnd } from '../prove/support/month-end.ts'

/* `npm run prove -- quota` is the same with more clients and more kills. */

t.test('the rest of a month is served to parallel clients exactly', async t => {
  const plan = { clients: 32, limit: 2000, left: 150, kills: 0 }
  t.strictSame(await playMonthEnd(plan), {
    served: 150,
    answered: 150,
    refused: 32,
    reserved: 2000,
  })
})

t.test('and never more than it when the coordinator is killed meanwhile', async t => {
  const plan = { clients: 32, limit: 2000, left: 150, kills: 2 }
  const { served, answered, reserved } = await playMonthEnd(plan)
  t.ok(served <= 150, `${served} served`)
  t.ok(answered <= served, `${answered} answered`)
  t.equal(reserved, 2000)
  t.ok(served >= 150 - 2 * (32 + 32), `${served} served: a kill loses what was leased, no more`)
})
