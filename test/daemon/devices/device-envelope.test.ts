import t from 'tap'
import { DeviceHost } from '../../../daemon/devices/device-host.ts'
import deviceEnvelope from '../../../daemon/devices/questions/device-envelope.ts'
import type { DeviceQuestionContext } from '../../../daemon/devices/questions/device-question.ts'
import { createDeviceId } from '../../../devices/device-id.ts'
import { CAPABILITY, NEEDS } from '../../../shared/wire/capability.ts'
import { silent } from '../../support/cell.ts'
import { cart, FakeLink } from '../../support/fake-link.ts'

t.test('a cell answers the limits of a device with the source of each', async t => {
  const link = new FakeLink()
  const drive = { ...cart.verbs['drive-to'], envelope: { max_speed_m_s: 0.5 } }
  const profile = { ...cart, verbs: { ...cart.verbs, 'drive-to': drive } as typeof cart.verbs }
  const fence = { frame: 'local' as const, max_altitude_m: 3 }
  link.add(createDeviceId('rover'), {
    profile,
    envelope: { max_speed_m_s: 1, min_battery_to_start_volts: 11, geofences: [fence] },
  })
  const host = new DeviceHost({
    config: { site: 'north', envelope: { max_speed_m_s: 2 } },
    envelopes: { fleet: { min_separation_m: 1 } },
    links: [link],
    now: Date.now,
    nowMs: () => 0,
    logger: silent,
  })
  const ask = async (device_id: string, level = CAPABILITY) => {
    const context = { host, level } as unknown as DeviceQuestionContext
    const events: unknown[] = []
    for await (const event of deviceEnvelope.ask({ device_id }, context)) events.push(event)
    return events
  }
  t.strictSame(await ask(createDeviceId('rover')), [
    {
      type: 'item',
      value: {
        bounds: [
          { limit: 'max_speed_m_s', value: 1, source: 'device', command: null },
          { limit: 'min_battery_to_start_volts', value: 11, source: 'device', command: null },
          { limit: 'min_separation_m', value: 1, source: 'fleet', command: null },
          { limit: 'geofences', value: fence, source: 'device', command: null },
          { limit: 'max_speed_m_s', value: 0.5, source: 'verb', command: 'drive-to' },
        ],
      },
    },
  ])
  const older = JSON.stringify(await ask(createDeviceId('rover'), NEEDS.volts - 1))
  t.notMatch(older, /volts/, 'an older coordinator would refuse the answer')
  t.match(older, /min_separation_m/)
  await t.rejects(ask(createDeviceId('other')), { code: 'not_found' })
})
