import { findUdpPort } from '../../devices/links/stand-in-copter.ts'
import { openDeviceFleet } from '../device-fleet.ts'
import { pause, waitUntil } from '../wait-until.ts'
import { Flight } from './flight.ts'
import { namePx4Mode, type Px4Parameters } from './px4-commander.ts'
import { Px4StandIn } from './px4-stand-in.ts'
import { Radio } from './radio.ts'

type Ending = () => unknown

interface Px4Rig {
  vehicle: Px4StandIn
  radio: Radio
  flight: Flight
}

interface Px4RigOptions {
  speedup?: number
  parameters?: Partial<Px4Parameters>
}

/** A coordinator and a cell in this process, and PX4 at the end of a radio. */
export const openPx4 = async (
  t: { teardown: (end: Ending) => void },
  { speedup = 4, parameters = {} }: Px4RigOptions = {},
): Promise<Px4Rig> => {
  const port = await findUdpPort()
  const radio = await Radio.open(port)
  // people and radios keep their pace: what waits for them waits as long
  const waiting = { COM_DISARM_PRFLT: 10 * speedup, COM_DL_LOSS_T: 10 * speedup }
  const all = { ...waiting, ...parameters }
  const vehicle = await Px4StandIn.open({ port: radio.port, speedup, parameters: all })
  const connection = `udp:127.0.0.1:${port}`
  const vehicles = [{ name: 'condor', return_speed_m_s: 5, return_altitude_m: 15 }]
  const link = { kind: 'mavlink', connection, heartbeat: true, vehicles }
  const { call } = await openDeviceFleet(t, [{ devices: { links: [link] } }])
  t.teardown(() => {
    vehicle.close()
    radio.close()
  })
  await waitUntil(
    'PX4 is ready',
    async () => {
      const plan = { command: 'launch', params: { altitude_m: 5 } }
      const { body } = await call('operator', 'POST', '/v1/devices/condor/plan', plan)
      // the home is sent every two seconds, and a climb needs its altitude
      const { body: shown } = await call('operator', 'GET', '/v1/devices/condor')
      const readings = (shown.readings ?? []) as { property: string; value: unknown }[]
      const home = readings.find(({ property }) => property === 'launch_altitude_amsl_m')
      return body.passes === true && typeof home?.value === 'number'
    },
    500,
  )
  const flight = new Flight({ call, device: 'condor', truth: vehicle, nameMode: namePx4Mode })
  return { vehicle, radio, flight }
}

const METRES_PER_DEGREE = 111_195

/** Each verb on the ground and in the air, over a radio that may lose and delay. */
export const walkPx4 = async ({ vehicle, flight, radio }: Px4Rig): Promise<void> => {
  const { home } = vehicle.commander
  const north = (metres: number) => ({ lat: home.lat + metres / METRES_PER_DEGREE, lon: home.lon })
  await flight.run('stop on the ground', 'stop')
  await flight.run('go-to on the ground', 'go-to', { ...north(20), altitude_m: 5 })
  await flight.run('arm', 'arm')
  await flight.run('disarm', 'disarm', {}, { isLanded: true })
  await flight.climb(5)
  const near = { ...north(15), altitude_m: 7, speed_m_s: 2 }
  await flight.run('go-to 15 m at 2 m/s', 'go-to', near, near)
  await flight.run('disarm in the air', 'disarm')
  const far = { ...north(400), altitude_m: 7, speed_m_s: 4 }
  const started = await flight.start('go-to', far)
  await waitUntil('it flies', () => (vehicle.track.at(-1)?.speed_m_s ?? 0) > 3)
  await flight.run('stop in flight', 'stop')
  await flight.finish('go-to that was stopped', started, far)
  await flight.run('hold', 'hold')
  await flight.run('set-mode auto_loiter', 'set-mode', { mode: 'auto_loiter' })
  await flight.run('set-mode auto_mission', 'set-mode', { mode: 'auto_mission' })
  await flight.run('return-to-launch', 'return-to-launch', {}, { isLanded: true })
  await flight.climb(3)
  const { faults } = radio
  const before = { ...faults }
  const lost = await flight.start('go-to', { ...north(400), altitude_m: 5, speed_m_s: 4 })
  await waitUntil('it flies again', () => (vehicle.track.at(-1)?.speed_m_s ?? 0) > 3)
  faults.isSilent = true
  await flight.run('stop in silence', 'stop')
  await flight.finish('go-to into silence', lost)
  Object.assign(faults, before, { isSilent: false })
  await waitUntil('it rests after the silence', () => (vehicle.track.at(-1)?.speed_m_s ?? 9) < 0.3)
  await flight.run('land', 'land', {}, { isLanded: true })
  await pause(100)
}
