import type { FlightRow } from '../../support/vehicles/flight.ts'
import { COPTER_LAND, COPTER_LOITER, ROVER_MANUAL } from '../../support/vehicles/modes.ts'
import type { Truth } from '../../support/vehicles/truth.ts'
import { pause } from '../../support/wait-until.ts'
import { proveFormation } from './formation.ts'
import { openRig, type Programs, type Rig, type RigUnit, readDevice, waitForTruth } from './rig.ts'
import { walkCopter, walkRover } from './walk.ts'

/** One part of the proof; its rows are what was said, and what was true. */
interface Scenario {
  name: string
  run(programs: Programs): Promise<FlightRow[]>
}

const METRES_PER_DEGREE = 111_195

const openOne = (programs: Programs, kind: 'copter' | 'rover', parameters = {}) =>
  openRig(programs, [{ name: kind === 'copter' ? 'kestrel' : 'badger', kind, parameters }])

/** Opens a vehicle, flies, and closes everything, also after an error. */
const flyOne =
  (
    kind: 'copter' | 'rover',
    fly: (unit: RigUnit, rig: Rig) => Promise<void>,
    parameters: Readonly<Record<string, number>> = {},
  ): Scenario['run'] =>
  async programs => {
    const rig = await openOne(programs, kind, parameters)
    const unit = rig.units[0] as RigUnit
    try {
      await fly(unit, rig)
      return unit.flight.rows
    } catch (error) {
      console.log(rig.cell.lines.slice(-15).join('\n'))
      console.log(unit.autopilot.second.texts.slice(-10))
      throw error
    } finally {
      await rig.close()
    }
  }

const walkWith = (faults: { loss?: number; delayMs?: number }): Scenario['run'] =>
  flyOne('copter', async unit => {
    Object.assign(unit.autopilot.radio.faults, faults)
    await walkCopter(unit)
  })

/** Takes off and begins a flight to the north, until it is under way. */
const beginFlight = async (unit: RigUnit, metres = 150, speed_m_s = 4) => {
  await unit.flight.climb(10)
  const { lat, lon } = unit.autopilot.second.truth as Truth
  const goal = { lat: lat + metres / METRES_PER_DEGREE, lon, altitude_m: 10 }
  const started = await unit.flight.start('go-to', { ...goal, speed_m_s })
  await waitForTruth(unit, ({ speed_m_s: now }) => now > speed_m_s * 0.7, 30_000)
  return { started, approved: { ...goal, speed_m_s } }
}

/** State of a unit that the service shows now, judged like the end of a command. */
const noteShown = async ({ flight }: RigUnit, { call }: Rig, step: string): Promise<void> => {
  const { at, values } = await readDevice(call, flight.device)
  const seen = { state: 'unknown', at, values }
  const said = { state: 'shown', reason: null, message: null, seen, startedAt: at, endedAt: at }
  flight.note(step, said, {})
}

const isAtRest = ({ speed_m_s, climb_m_s }: Truth): boolean =>
  speed_m_s < 0.4 && Math.abs(climb_m_s) < 0.4

/** Adds a row about what must be true by itself. */
const require = ({ flight }: RigUnit, step: string, holds: boolean): void => {
  const at = Date.now()
  const row = flight.note(
    step,
    {
      state: holds ? 'holds' : 'broken',
      reason: null,
      message: null,
      seen: null,
      startedAt: at,
      endedAt: at,
    },
    {},
  )
  if (!holds) row.untrue.push(step)
}

export const SCENARIOS: readonly Scenario[] = [
  { name: 'walk', run: walkWith({}) },
  { name: 'walk-loss-10', run: walkWith({ loss: 0.1 }) },
  { name: 'walk-loss-30', run: walkWith({ loss: 0.3 }) },
  { name: 'walk-delay-300', run: walkWith({ delayMs: 300 }) },
  { name: 'rover', run: flyOne('rover', unit => walkRover(unit)) },
  {
    name: 'rover-loss-30',
    run: flyOne('rover', async unit => {
      unit.autopilot.radio.faults.loss = 0.3
      await walkRover(unit)
    }),
  },
  {
    name: 'silence',
    run: flyOne('copter', async (unit, rig) => {
      const { started, approved } = await beginFlight(unit)
      const { faults } = unit.autopilot.radio
      faults.isSilent = true
      await unit.flight.run('stop in silence', 'stop')
      await unit.flight.finish('flight into silence', started, approved)
      await pause(5000)
      faults.isSilent = false
      const rests = await waitForTruth(unit, isAtRest, 40_000)
      require(unit, 'it brakes when the link is back', rests)
      await pause(3000)
      await noteShown(unit, rig, 'after the silence')
      await unit.flight.run('land', 'land', {}, { isLanded: true })
    }),
  },
  {
    name: 'reboot',
    run: flyOne('copter', async (unit, rig) => {
      const { started, approved } = await beginFlight(unit)
      await unit.autopilot.end()
      await pause(2000)
      unit.autopilot.start()
      await unit.flight.finish('flight of a vehicle that restarts', started, approved)
      await unit.autopilot.waitForTruth()
      await pause(20_000)
      await noteShown(unit, rig, 'after the restart')
    }),
  },
  {
    name: 'kill',
    run: flyOne('copter', async (unit, rig) => {
      const { started, approved } = await beginFlight(unit)
      await rig.cell.end('SIGKILL')
      await pause(4000)
      rig.cell.start()
      const rests = await waitForTruth(unit, isAtRest, 40_000)
      require(unit, 'an interrupted flight is braked by the next daemon', rests)
      await unit.flight.finish('flight of a daemon that was killed', started, approved)
      await pause(3000)
      await noteShown(unit, rig, 'after the kill')
      await unit.flight.run('land', 'land', {}, { isLanded: true })
    }),
  },
  {
    name: 'kill-take-over',
    run: flyOne('copter', async (unit, rig) => {
      const { started, approved } = await beginFlight(unit)
      await rig.cell.end('SIGKILL')
      await unit.autopilot.second.setMode(COPTER_LOITER)
      await waitForTruth(unit, isAtRest, 40_000)
      rig.cell.start()
      await unit.flight.finish('flight taken over without a daemon', started, approved)
      await pause(5000)
      const mode = unit.autopilot.second.state?.mode
      require(unit, 'the mode of the pilot stays', mode === COPTER_LOITER)
      await noteShown(unit, rig, 'after the take-over without a daemon')
      await unit.flight.run('land', 'land', {}, { isLanded: true })
    }),
  },
  {
    name: 'take-over',
    run: flyOne('copter', async (unit, rig) => {
      const { started, approved } = await beginFlight(unit)
      await unit.autopilot.second.setMode(COPTER_LOITER)
      await unit.flight.finish('flight that a pilot takes over', started, approved)
      await pause(5000)
      const mode = unit.autopilot.second.state?.mode
      require(unit, 'the mode of the pilot stays', mode === COPTER_LOITER)
      await noteShown(unit, rig, 'after the take-over')
      await unit.flight.run('land', 'land', {}, { isLanded: true })
    }),
  },
  {
    name: 'rover-take-over',
    run: flyOne('rover', async (unit, rig) => {
      await unit.flight.run('arm', 'arm')
      const { lat, lon } = unit.autopilot.second.truth as Truth
      const goal = { lat: lat + 60 / METRES_PER_DEGREE, lon }
      const started = await unit.flight.start('go-to', { ...goal, speed_m_s: 2 })
      await waitForTruth(unit, ({ speed_m_s }) => speed_m_s > 1.4, 30_000)
      await unit.autopilot.second.setMode(ROVER_MANUAL)
      await unit.flight.finish('drive that a driver takes over', started, { ...goal, speed_m_s: 2 })
      await pause(3000)
      require(unit, 'the mode of the driver stays', unit.autopilot.second.state?.mode ===
        ROVER_MANUAL)
      await noteShown(unit, rig, 'after the take-over')
    }),
  },
  {
    name: 'gps',
    run: flyOne('copter', async (unit, rig) => {
      const { started, approved } = await beginFlight(unit)
      await unit.autopilot.second.setParameter('SIM_GPS_DISABLE', 1)
      await pause(1500)
      await unit.flight.run('stop without GPS', 'stop')
      await unit.flight.finish('flight that loses GPS', started, approved)
      await noteShown(unit, rig, 'after the loss of GPS')
      await unit.flight.run('land without GPS', 'land', {}, { isLanded: true })
    }),
  },
  {
    name: 'ekf',
    run: flyOne('copter', async (unit, rig) => {
      const { started, approved } = await beginFlight(unit, 300)
      await unit.autopilot.second.setParameter('SIM_GPS_DISABLE', 1)
      // the loss of the fix ends the flight before the failsafe does
      await waitForTruth(unit, () => unit.autopilot.second.state?.mode === COPTER_LAND, 60_000)
      await unit.flight.run('stop after the failsafe of the EKF', 'stop')
      await unit.flight.finish('flight that the failsafe ends', started, approved)
      await noteShown(unit, rig, 'after the failsafe')
    }),
  },
  {
    name: 'estop',
    run: flyOne('copter', async (unit, rig) => {
      const { started, approved } = await beginFlight(unit)
      const startedAt = Date.now()
      const { body } = await rig.call('operator', 'POST', '/v1/estop', {
        device: unit.flight.device,
      })
      unit.flight.note(
        'e-stop',
        {
          state: String(body.state ?? 'engaged'),
          reason: null,
          message: null,
          seen: null,
          startedAt,
          endedAt: Date.now(),
        },
        {},
        body,
      )
      await unit.flight.run('hold under an e-stop', 'hold')
      await unit.flight.finish('flight that an e-stop ends', started, approved)
      const isDown = await waitForTruth(unit, ({ altitude_m }) => altitude_m < 0.6, 60_000)
      require(unit, 'the landing of an e-stop is not ended by hold', isDown)
      await pause(5000)
      await noteShown(unit, rig, 'after the e-stop')
    }),
  },
  { name: 'formation', run: proveFormation },
]
