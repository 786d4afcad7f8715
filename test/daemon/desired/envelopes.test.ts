import { once } from 'node:events'
import t from 'tap'
import { DaemonConfig } from '../../../daemon/config.ts'
import { readSharedEnvelopes, writeDesired } from '../../../daemon/desired/desired-file.ts'
import { settingsOf } from '../../../daemon/desired/settings.ts'
import { LiveSettings } from '../../../daemon/live-settings.ts'
import { DesiredService } from '../../../daemon/services/desired.ts'
import { listWithheld, SETTING_KEYS, withholdKeys } from '../../../shared/wire/capability.ts'
import type { Envelope } from '../../../shared/wire/envelope.ts'
import type { ReceivedEnvelopes, SharedEnvelopes } from '../../../shared/wire/safety-envelope.ts'
import { silent } from '../../support/cell.ts'

const createLog = (level: string) => ({ log: { level } })
const envelopes: SharedEnvelopes = { fleet: { max_speed_m_s: 1 } }

t.test('limits of the coordinator come into force, and end, while the cell runs', async t => {
  const inForce: ReceivedEnvelopes[] = []
  const live = new LiveSettings(DaemonConfig.parse({}))
  const parts = {
    telemetry: { setIntervalSeconds: () => {} },
    uplink: { limitSpool: () => {} },
    restartEngines: async () => {},
    devices: { setEnvelopes: (given: ReceivedEnvelopes) => void inForce.push(given) },
    discovery: { setSettings: () => {} },
    setRegistered: async () => {},
    logger: silent,
  }
  await live.apply({ envelopes }, envelopes, parts)
  await live.apply({}, {}, parts)
  t.strictSame(inForce, [envelopes, {}])
})

t.test('proven limits hold from the next start on, without the coordinator', async t => {
  const stateDir = t.testdir()
  t.strictSame(await readSharedEnvelopes(stateDir), {})
  const wanted = { version: 3, document: { envelopes } }
  await writeDesired(stateDir, { good: { local: {}, wanted } }, silent)
  t.strictSame(await readSharedEnvelopes(stateDir), envelopes)
})

t.test('limits that cannot be read stay unreadable until limits are received', async t => {
  const stateDir = t.testdir()
  const spoiled = { ...createLog('warn'), envelopes: { fleet: { max_speed_m_s: 'newer' } } }
  const local = settingsOf(DaemonConfig.parse({}))
  await writeDesired(
    stateDir,
    { good: { local, wanted: { version: 3, document: spoiled } } },
    silent,
  )
  const applied: ReceivedEnvelopes[] = []
  const begin = async () => {
    const stop = new AbortController()
    let hear: (document: object, version: number) => void = () => {}
    const service = new DesiredService({
      stateDir,
      uplink: {
        on: (_name, listener) => {
          hear = (document, version) => listener({ body: { version, document } } as Envelope, 'a')
          return () => {}
        },
        onReady: () => () => {},
        onEnd: () => () => {},
        publishToAll: async () => {},
      },
      local,
      probationMs: 60_000,
      apply: async (_settings, envelopes) => void applied.push(envelopes),
      health: { view: () => ({}) },
      engines: () => [],
      logger: silent,
      wait: (_ms, signal) => once(signal, 'abort').then(() => {}),
    })
    await service.start({ signal: stop.signal, fail: error => t.fail(error.message) })
    const reload = (level: 'warn' | 'error') => service.reload({ ...local, log: { level } })
    const end = () => {
      stop.abort()
      return reload('warn')
    }
    return { hear: (document: object, version: number) => hear(document, version), reload, end }
  }
  for (const start of ['first', 'second']) {
    const { end } = await begin()
    await end()
    t.equal(await readSharedEnvelopes(stateDir), 'unreadable', `${start} start`)
  }
  applied.length = 0
  const { hear, reload, end } = await begin()
  hear({ ...createLog('error'), envelopes: spoiled.envelopes }, 4)
  await reload('error')
  t.strictSame(applied.splice(0), ['unreadable'], 'other members are taken')
  hear(createLog('error'), 5)
  await reload('error')
  t.strictSame(applied.splice(0), [{}], 'the coordinator has no limits any more')
  hear({ ...createLog('error'), envelopes }, 6)
  await reload('error')
  t.strictSame(applied.splice(0), [envelopes])
  await end()
})

t.test('a cell below level 6 gets no limits, which it would refuse', async t => {
  const document = { envelopes, tags: ['a'] }
  t.strictSame(withholdKeys(document, SETTING_KEYS, 5), { tags: ['a'] })
  t.strictSame(withholdKeys(document, SETTING_KEYS, 6), document)
})

t.test(
  'a cell below level 9 gets the limits without those in volts, and the others hold',
  async t => {
    const volts = { min_battery_to_start_volts: 14, min_battery_to_continue_volts: 13 }
    const document = {
      envelopes: {
        fleet: { max_speed_m_s: 1, ...volts },
        sites: { hall: { ...volts }, yard: { min_separation_m: 2, ...volts } },
      },
    }
    const older = withholdKeys(document, SETTING_KEYS, 8)
    t.strictSame(older, {
      envelopes: {
        fleet: { max_speed_m_s: 1 },
        sites: { hall: {}, yard: { min_separation_m: 2 } },
      },
    })
    t.equal(withholdKeys(document, SETTING_KEYS, 9), document)
    t.strictSame(
      listWithheld(document, SETTING_KEYS, 8).filter(({ key }) => key.includes('start')),
      ['fleet', 'sites.hall', 'sites.yard'].map(place => ({
        key: `envelopes.${place}.min_battery_to_start_volts`,
        level: 9,
      })),
    )
  },
)
