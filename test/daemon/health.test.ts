import t from 'tap'
import { isSound, type ServiceState } from '../../daemon/health.ts'

type ServiceHealth = Parameters<typeof isSound>[0][string]

const view = (states: Record<string, ServiceState>): Record<string, ServiceHealth> =>
  Object.fromEntries(
    Object.entries(states).map(([name, state]) => [
      name,
      { state, reason: undefined, since: 1000 },
    ]),
  )

t.test('the health of a daemon follows from its services', async t => {
  for (const [title, states, afterMs, sound] of [
    ['before anything runs', {}, 0, true],
    ['when everything runs', { link: 'running', spool: 'running' }, 1e9, true],
    ['while a service starts', { inference: 'starting' }, 60_000, true],
    ['but not when a start takes over a minute', { inference: 'starting' }, 60_001, false],
    ['when a service waits to be tried again', { telemetry: 'waiting' }, 1e9, true],
    ['without the coordinator', { 'uplink connection': 'waiting', spool: 'running' }, 1e9, true],
    ['without the disk', { 'uplink connection': 'running', spool: 'waiting' }, 1e9, true],
    ['but not without both', { 'uplink connection': 'waiting', spool: 'waiting' }, 0, false],
  ] as [string, Record<string, ServiceState>, number, boolean][])
    t.equal(isSound(view(states), 1000 + afterMs), sound, title)
})
