import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { findUdpPort } from '../../devices/links/stand-in-copter.ts'
import { type ApiCaller, openCoordinatorFor } from '../../support/device-fleet.ts'
import { Process } from '../../support/stack.ts'
import { Autopilot, type AutopilotOptions, type Home } from '../../support/vehicles/autopilot.ts'
import { Flight } from '../../support/vehicles/flight.ts'
import { nameCopterMode, nameRoverMode } from '../../support/vehicles/modes.ts'
import { pause } from '../../support/wait-until.ts'

type Json = Record<string, unknown>

interface RigVehicle {
  name: string
  kind: 'copter' | 'rover'
  home?: Home
  parameters?: AutopilotOptions['parameters']
}

/** Paths of the built programs. */
export type Programs = Readonly<Record<RigVehicle['kind'], string>>

export interface RigUnit {
  autopilot: Autopilot
  flight: Flight
}

/** A coordinator, one shoald as a process of its own, and vehicles that it reaches by radio. */
export interface Rig extends Pick<ApiCaller, 'call'> {
  cell: Process
  units: readonly RigUnit[]
  close(): Promise<void>
}

/** Time in which an autopilot finds its position and passes its checks. */
const READY_MS = 240_000

export const openRig = async (
  programs: Programs,
  vehicles: readonly RigVehicle[],
  settings: object = {},
): Promise<Rig> => {
  const coordinator = await openCoordinatorFor(1, settings)
  const { call, url, joinToken, folder } = coordinator
  const cellPort = await findUdpPort()
  const autopilots = await Promise.all(
    vehicles.map(({ kind, home, parameters }, index) =>
      Autopilot.open({
        ...{ kind, program: programs[kind], cellPort, systemId: index + 1 },
        ...(home && { home }),
        ...(parameters && { parameters }),
      }),
    ),
  )
  const config = join(folder, 'cell.yaml')
  const links = [
    {
      kind: 'mavlink',
      connection: `udp:127.0.0.1:${cellPort}`,
      heartbeat: true,
      vehicles: vehicles.map(({ name }, index) => ({ name, system_id: index + 1, site: 'yard' })),
    },
  ]
  writeFileSync(config, stringify({ devices: { links }, log: { level: 'info' } }))
  const args = ['--config', config, '--coordinator-url', url, '--state-dir', join(folder, 'cell')]
  const env = { SHOAL_COORDINATOR_JOIN_TOKEN: joinToken, SHOAL_NAME: 'ground' }
  const cell = new Process('shoald', () => args, env)
  cell.start()
  const units = vehicles.map(({ name, kind }, index): RigUnit => {
    const autopilot = autopilots[index] as Autopilot
    const nameMode = kind === 'copter' ? nameCopterMode : nameRoverMode
    const flight = new Flight({ call, device: name, truth: autopilot.second, nameMode })
    return { autopilot, flight }
  })
  const close = async (): Promise<void> => {
    await Promise.all(autopilots.map(autopilot => autopilot.close()))
    await cell.end('SIGTERM')
    await coordinator.close()
  }
  try {
    await Promise.all(autopilots.map(autopilot => autopilot.waitForPosition()))
    await Promise.all(vehicles.map(vehicle => waitUntilReady(call, vehicle)))
    return { call, cell, units, close }
  } catch (error) {
    console.log(cell.lines.slice(-20).join('\n'))
    await close()
    throw error
  }
}

/** A vehicle is ready once it would pass the checks of its first command. */
const waitUntilReady = async (
  call: ApiCaller['call'],
  { name, kind }: RigVehicle,
): Promise<void> => {
  const first =
    kind === 'copter' ? { command: 'launch', params: { altitude_m: 10 } } : { command: 'arm' }
  const begun = Date.now()
  let said: Json = {}
  while (Date.now() - begun < READY_MS) {
    const { body } = await call('operator', 'POST', `/v1/devices/${name}/plan`, first)
    said = body
    if (body.passes === true) return
    await pause(2000)
  }
  throw new Error(`${name} is not ready: ${JSON.stringify(said).slice(0, 1000)}`)
}

interface Reading {
  property: string
  value: unknown
  stale: boolean
  age_ms: number | null
}

/** Readings that belong to one moment, in milliseconds around the newest one. */
const SAME_MOMENT_MS = 500

/** Newest readings of a device that the service shows as current, and their time. */
export const readDevice = async (
  call: ApiCaller['call'],
  name: string,
): Promise<{ at: number; values: Json }> => {
  const { body } = await call('operator', 'GET', `/v1/devices/${name}`)
  const now = Date.now()
  const current = ((body.readings ?? []) as Reading[]).filter(({ stale }) => !stale)
  const ages = current.flatMap(({ age_ms }) => (age_ms === null ? [] : [age_ms]))
  const youngest_ms = Math.min(...ages)
  const values = current
    .filter(({ age_ms }) => (age_ms ?? Number.POSITIVE_INFINITY) - youngest_ms < SAME_MOMENT_MS)
    .map(({ property, value }) => [property, value])
  return { at: now - youngest_ms, values: Object.fromEntries(values) }
}

/** Waits until the truth about a unit holds; false after the limit. */
export const waitForTruth = async (
  { autopilot }: RigUnit,
  holds: (truth: NonNullable<Autopilot['second']['truth']>) => boolean,
  limit_ms = 60_000,
): Promise<boolean> => {
  const begun = Date.now()
  while (Date.now() - begun < limit_ms) {
    const { truth } = autopilot.second
    if (truth !== undefined && holds(truth)) return true
    await pause(100)
  }
  return false
}
