import t from 'tap'
import { takeOverFlows } from '../prove/support/flow-takeovers.ts'
import { killInFlows } from '../support/flow-kills.ts'
import { postgresMissing } from '../support/postgres.ts'

/** The full size of these tests is `npm run prove -- flows`. */
t.test('a killed coordinator neither repeats nor loses a step of a flow', async t => {
  const { faults, killsAtWork, acknowledged, runs, effects } = await killInFlows(1)
  t.strictSame(faults, [])
  t.equal(killsAtWork, 1, 'a run was at work')
  t.ok(acknowledged > 0)
  t.ok(runs >= acknowledged)
  t.ok(effects > 0)
})

t.test(
  'nor does one whose runs another coordinator takes over, killed or only paused',
  { skip: postgresMissing },
  async t => {
    const { faults, acknowledged, runs, lostClaims } = await takeOverFlows({ kills: 1, pauses: 1 })
    t.strictSame(faults, [])
    t.ok(lostClaims > 0)
    t.ok(acknowledged > 0)
    t.ok(runs >= acknowledged)
  },
)
