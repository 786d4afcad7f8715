import t from 'tap'
import { DaemonConfig } from '../../../daemon/config.ts'
import { readSharedEnvelopes, writeDesired } from '../../../daemon/desired/desired-file.ts'
import { LiveSettings } from '../../../daemon/live-settings.ts'
import { SETTING_KEYS, withholdKeys } from '../../../shared/wire/capability.ts'
import type { SharedEnvelopes } from '../../../shared/wire/safety-envelope.ts'
import { silent } from '../../support/cell.ts'

const envelopes: SharedEnvelopes = { fleet: { max_speed_m_s: 1 } }

t.test('limits of the coordinator come into force, and end, while the cell runs', async t => {
  const inForce: SharedEnvelopes[] = []
  const live = new LiveSettings(DaemonConfig.parse({}))
  const parts = {
    telemetry: { setIntervalSeconds: () => {} },
    uplink: { limitSpool: () => {} },
    restartEngines: async () => {},
    devices: { setEnvelopes: (given: SharedEnvelopes) => void inForce.push(given) },
    discovery: { setSettings: () => {} },
    setRegistered: async () => {},
    logger: silent,
  }
  await live.apply({ envelopes }, parts)
  await live.apply({}, parts)
  t.strictSame(inForce, [envelopes, {}])
})

t.test('proven limits hold from the next start on, without the coordinator', async t => {
  const stateDir = t.testdir()
  t.strictSame(await readSharedEnvelopes(stateDir), {})
  const wanted = { version: 3, document: { envelopes } }
  await writeDesired(stateDir, { good: { local: {}, wanted } }, silent)
  t.strictSame(await readSharedEnvelopes(stateDir), envelopes)
})

t.test('a cell below level 6 gets no limits, which it would refuse', async t => {
  const document = { envelopes, tags: ['a'] }
  t.strictSame(withholdKeys(document, SETTING_KEYS, 5), { tags: ['a'] })
  t.strictSame(withholdKeys(document, SETTING_KEYS, 6), document)
})
