import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { openPx4, walkPx4 } from '../support/vehicles/px4-walk.ts'
import { showRows } from '../support/vehicles/show-rows.ts'

/**
 * PX4 as its sources have it, flown through the public API: the walk of `prove -- ardupilot` at its
 * real speed, over radios that lose and delay.
 */
export const main = async (argv: string[]): Promise<boolean> => {
  const { values } = parseArgs({
    args: argv,
    options: {
      /** Simulated seconds in a second. */
      speedup: { type: 'string', default: '1' },
      json: { type: 'string', default: 'px4.json' },
    },
  })
  const radios = {
    ideal: {},
    'loss 10 %': { loss: 0.1 },
    'loss 30 %': { loss: 0.3 },
    '300 ms': { delayMs: 300 },
  }
  const results: Record<string, unknown> = {}
  let untrue = 0
  for (const [name, faults] of Object.entries(radios)) {
    const endings: (() => unknown)[] = []
    const scope = { teardown: (end: () => unknown) => void endings.unshift(end) }
    const rig = await openPx4(scope, { speedup: Number(values.speedup) })
    try {
      Object.assign(rig.radio.faults, faults)
      await walkPx4(rig)
    } finally {
      showRows(name, rig.flight.rows)
      for (const end of endings) await end()
    }
    results[name] = rig.flight.rows
    untrue += rig.flight.rows.flatMap(row => row.untrue).length
    writeFileSync(values.json, JSON.stringify(results, undefined, 2))
  }
  console.log(`${untrue} untrue words`)
  return untrue === 0
}
