import t from 'tap'
import { requireCapable } from '../../../../coordinator/fleet/control/command-request.ts'
import { createFindVerbs } from '../../../../coordinator/fleet/control/find-verbs.ts'
import { toProfileFacts } from '../../../../daemon/devices/device-facts.ts'
import { createDeviceId } from '../../../../devices/device-id.ts'
import type { Announce } from '../../../../shared/wire/announce.ts'
import { cart } from '../../../support/fake-link.ts'

const ROVER = createDeviceId('rover')
const ping = { verb: 'ping', description: '', hazard: 'safe' as const, timeout_seconds: 30 }

const announce = (changes: Partial<Announce>) => ({ verbs: [ping], ...changes }) as Announce

t.test('verbs of a device are those of its profile, and none of an unknown device', async t => {
  const rover = {
    device_id: ROVER,
    name: 'rover',
    profile: cart.id,
    site: null,
    available: true,
    reason: null,
    writable: true,
    envelope: {},
  }
  const born = announce({ device_profiles: [toProfileFacts(cart)], devices: [rover] })
  const find = createFindVerbs(id =>
    id === 'new' ? born : id === 'old' ? announce({}) : undefined,
  )
  t.strictSame(find('new'), [ping])
  t.strictSame(
    find('new', ROVER)?.map(({ verb }) => verb),
    Object.keys(cart.verbs),
  )
  t.equal(find('new', 'dev_other'), undefined)
  t.strictSame(find('old', ROVER), [ping], 'a cell that announces no list of devices')
  t.equal(find('silent'), undefined)
})

t.test('a command for a device needs a cell of level 6', async t => {
  const command = { cell_id: 'cell', device_id: ROVER, hazard: 'safe', mode: 'live' } as const
  t.throws(() => requireCapable(command, 5), { code: 'conflict', message: /level 5.*level 6/ })
  t.doesNotThrow(() => requireCapable(command, 6))
})
