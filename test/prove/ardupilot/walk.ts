import type { Truth } from '../../support/vehicles/truth.ts'
import { pause } from '../../support/wait-until.ts'
import { type RigUnit, waitForTruth } from './rig.ts'

const METRES_PER_DEGREE = 111_195

const northOf = ({ autopilot }: RigUnit, metres: number) => {
  const { lat, lon } = autopilot.second.truth as Truth
  return { lat: lat + metres / METRES_PER_DEGREE, lon }
}

/** Each verb of a copter, on the ground and in the air. */
export const walkCopter = async (unit: RigUnit): Promise<void> => {
  const { flight } = unit
  await flight.run('stop on the ground', 'stop')
  await flight.run('go-to on the ground', 'go-to', { ...northOf(unit, 20), altitude_m: 5 })
  await flight.run('set-mode guided on the ground', 'set-mode', { mode: 'guided' })
  await flight.run('arm', 'arm')
  await flight.run('disarm', 'disarm', {}, { isLanded: true })
  await flight.climb(10)
  const near = { ...northOf(unit, 20), altitude_m: 8, speed_m_s: 3 }
  await flight.run('go-to 20 m at 3 m/s', 'go-to', near, near)
  await flight.run('disarm in the air', 'disarm')
  const far = { ...northOf(unit, 120), altitude_m: 10, speed_m_s: 5 }
  const started = await flight.start('go-to', far)
  await waitForTruth(unit, ({ speed_m_s }) => speed_m_s > 4, 30_000)
  await flight.run('stop in flight', 'stop')
  await flight.finish('go-to that was stopped', started, far)
  await flight.run('hold', 'hold')
  await flight.run('set-mode brake', 'set-mode', { mode: 'brake' })
  await flight.run('set-mode guided', 'set-mode', { mode: 'guided' })
  await flight.run('return-to-launch', 'return-to-launch', {}, { isLanded: true })
  await flight.climb(4)
  const landing = await flight.run('land', 'land', {}, {})
  if (landing.state === 'succeeded') await waitForTruth(unit, isDown, 40_000)
  await pause(6000)
}

const isDown = ({ altitude_m }: Truth): boolean => altitude_m < 0.4

/** Each verb of a rover. */
export const walkRover = async (unit: RigUnit): Promise<void> => {
  const { flight } = unit
  await flight.run('stop before arming', 'stop')
  await flight.run('arm', 'arm')
  const near = { ...northOf(unit, 20), speed_m_s: 2 }
  await flight.run('go-to 20 m at 2 m/s', 'go-to', near, near)
  const far = { ...northOf(unit, 60), speed_m_s: 3 }
  const started = await flight.start('go-to', far)
  await waitForTruth(unit, ({ speed_m_s }) => speed_m_s > 2, 30_000)
  await flight.run('stop under way', 'stop')
  await flight.finish('go-to that was stopped', started, far)
  await flight.run('hold', 'hold')
  await flight.run('set-mode hold', 'set-mode', { mode: 'hold' })
  await flight.run('return-to-launch', 'return-to-launch')
  await flight.run('disarm', 'disarm')
}
