import { parseArgs } from 'node:util'
import { fuzzBle } from '../support/ble-fuzz.ts'

/** `npm run prove -- ble [--events 1000000] [--seed 1]`: invented advertisements end nothing. */
export const main = async (argv: string[]): Promise<boolean> => {
  const options = { events: { type: 'string' }, seed: { type: 'string' } } as const
  const { values } = parseArgs({ args: argv, options })
  const events = Number(values.events ?? 1_000_000)
  const seed = Number(values.seed ?? 1)
  let isGood = true
  for (const isExtended of [false, true]) {
    const started = performance.now()
    const { heard, rows, fault } = await fuzzBle(events / 2, seed, isExtended)
    const seconds = Math.round((performance.now() - started) / 1000)
    const memory_mib = Math.round(process.memoryUsage().rss / 2 ** 20)
    const kind = isExtended ? 'extended' : 'legacy'
    console.log(`${kind}: ${events / 2} events, ${heard} heard, ${rows} devices, simulated`)
    console.log(`  ${seconds} s, ${memory_mib} MiB, ${fault ?? 'every row as declared'}`)
    isGood &&= fault === undefined && heard > 0
  }
  return isGood
}
