import t from 'tap'
import { killInFlows } from '../support/flow-kills.ts'

t.test('a killed coordinator neither repeats nor loses a step of a flow', async t => {
  const { faults, acknowledged, runs, effects } = await killInFlows(2)
  t.strictSame(faults, [])
  t.ok(acknowledged > 0)
  t.ok(runs >= acknowledged)
  t.ok(effects > 0)
})
