import { existsSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import type { FlightRow } from '../support/vehicles/flight.ts'
import { showRows } from '../support/vehicles/show-rows.ts'
import type { Programs } from './ardupilot/rig.ts'
import { SCENARIOS } from './ardupilot/scenarios.ts'

/**
 * A real ArduCopter and Rover in simulation, flown through the public API of a real coordinator and a
 * real shoald with two approvers: each verb in the air and on the ground, over a radio that loses,
 * delays and is silent, through restarts, a killed daemon, a pilot who takes over, and the loss of
 * GPS. Everything that is said is compared with the simulator's own truth on a second port.
 */
export const main = async (argv: string[]): Promise<boolean> => {
  const { values } = parseArgs({
    args: argv,
    options: {
      /** Names of scenarios, with commas; all by default. */
      only: { type: 'string' },
      /** File that takes the rows as JSON. */
      json: { type: 'string', default: 'ardupilot.json' },
      /** Most scenarios that fly at once. */
      at_once: { type: 'string', default: '2' },
    },
  })
  const programs = findPrograms()
  if (programs === undefined) return false
  const wanted = values.only?.split(',')
  const unknown = wanted?.filter(name => !SCENARIOS.some(scenario => scenario.name === name)) ?? []
  if (unknown.length > 0) {
    console.log(
      `no scenario ${unknown}; scenarios: ${SCENARIOS.map(({ name }) => name).join(', ')}`,
    )
    return false
  }
  const queue = SCENARIOS.filter(({ name }) => wanted === undefined || wanted.includes(name))
  const results = new Map<string, FlightRow[] | string>()
  const fly = async (): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const { name, run } = next
      results.set(name, await run(programs).catch((error: Error) => String(error.stack)))
      const result = results.get(name) ?? ''
      showRows(name, typeof result === 'string' ? [] : result)
      if (typeof result === 'string') console.log(result)
      writeFileSync(values.json, JSON.stringify(Object.fromEntries(results), undefined, 2))
    }
  }
  await Promise.all(Array.from({ length: Number(values.at_once) }, fly))
  const rows = [...results.values()].flatMap(result => (typeof result === 'string' ? [] : result))
  const broken = [...results.values()].filter(result => typeof result === 'string').length
  const untrue = rows.flatMap(row => row.untrue).length
  console.log(`${rows.length} steps, ${untrue} untrue words, ${broken} scenarios broke off`)
  return rows.length > 0 && untrue === 0 && broken === 0
}

const findPrograms = (): Programs | undefined => {
  const { SHOAL_ARDUCOPTER: copter, SHOAL_ARDUROVER: rover } = process.env
  if (copter && rover && existsSync(copter) && existsSync(rover)) return { copter, rover }
  console.log(
    "build ArduPilot's SITL (waf copter, waf rover) and set SHOAL_ARDUCOPTER and SHOAL_ARDUROVER to " +
      'the two programs',
  )
  return undefined
}
