import t from 'tap'
import { openPx4 } from '../support/vehicles/px4-walk.ts'
import { waitUntil } from '../support/wait-until.ts'

/* A real coordinator and a real cell fly PX4 as its sources have it; `prove -- px4` flies the whole walk. */

t.setTimeout(180_000)

t.test('each word about a flight of PX4 is true, and a stop ends a flight to a place', async t => {
  const { vehicle, flight } = await openPx4(t, { speedup: 8 })
  const { home } = vehicle.commander
  const north = (metres: number) => ({ lat: home.lat + metres / 111_195, lon: home.lon })
  await flight.climb(5)
  const near = { ...north(10), altitude_m: 6, speed_m_s: 2 }
  await flight.run('go-to', 'go-to', near, near)
  const far = await flight.start('go-to', { ...north(2000), altitude_m: 6, speed_m_s: 4 })
  await waitUntil('it flies', () => (vehicle.track.at(-1)?.speed_m_s ?? 0) > 3)
  await flight.run('stop', 'stop')
  const { north: stoppedAt } = vehicle.commander.mass
  await flight.finish('go-to that was stopped', far)
  await flight.run('mission', 'set-mode', { mode: 'auto_mission' })
  await flight.run('land', 'land', {}, { isLanded: true })

  t.strictSame(
    flight.rows.flatMap(({ step, untrue }) => untrue.map(word => `${step}: ${word}`)),
    [],
  )
  const states = flight.rows.map(({ step, state }) => `${step}: ${state}`)
  t.strictSame(states, [
    'launch to 5 m: succeeded',
    'go-to: succeeded',
    'stop: succeeded',
    'go-to that was stopped: unknown',
    'mission: failed',
    'land: succeeded',
  ])
  t.ok(vehicle.commander.mass.north - stoppedAt < 5, 'it has not flown on')
  t.ok(stoppedAt < 1000, 'the stop has ended the flight')
})
