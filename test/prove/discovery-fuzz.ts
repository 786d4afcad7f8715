import { parseArgs } from 'node:util'
import { fuzzBle } from '../support/discovery-fuzz/ble.ts'
import type { FuzzResult } from '../support/discovery-fuzz/fuzz-result.ts'
import { fuzzMdns } from '../support/discovery-fuzz/mdns.ts'
import { fuzzSnmp } from '../support/discovery-fuzz/snmp.ts'
import { fuzzWifi } from '../support/discovery-fuzz/wifi.ts'

type Fuzz = (count: number, seed: number) => FuzzResult | Promise<FuzzResult>

/** Kinds of events, with their share of all of them. */
const KINDS: readonly [name: string, share: number, fuzz: Fuzz][] = [
  ['BLE advertisements, legacy', 0.2, (count, seed) => fuzzBle(count, seed, false)],
  ['BLE advertisements, extended', 0.2, (count, seed) => fuzzBle(count, seed, true)],
  ['mDNS packets', 0.25, fuzzMdns],
  ['SNMP answers', 0.15, fuzzSnmp],
  ['lines of nmcli', 0.2, fuzzWifi],
]

/**
 * `npm run prove -- discovery-fuzz [--events 1000000] [--seed 1]`: invented answers of the world end
 * no scan, and every row is as declared.
 */
export const main = async (argv: string[]): Promise<boolean> => {
  const options = { events: { type: 'string' }, seed: { type: 'string' } } as const
  const { values } = parseArgs({ args: argv, options })
  const events = Number(values.events ?? 1_000_000)
  let isGood = true
  for (const [name, share, fuzz] of KINDS) {
    const started = performance.now()
    const { heard, rows, fault } = await fuzz(Math.round(events * share), Number(values.seed ?? 1))
    const seconds = Math.round((performance.now() - started) / 1000)
    const memory_mib = Math.round(process.memoryUsage().rss / 2 ** 20)
    console.log(`${name}: ${Math.round(events * share)} events, ${heard} read, ${rows} rows`)
    console.log(`  ${seconds} s, ${memory_mib} MiB, ${fault ?? 'every row as declared'}`)
    isGood &&= fault === undefined && heard > 0
  }
  return isGood
}
