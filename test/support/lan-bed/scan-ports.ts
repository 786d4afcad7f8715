import { listTargets } from '../../../discovery/net/list-targets.ts'
import { scanNetworks } from '../../../discovery/net/scan-networks.ts'
import { listOpenResources } from '../open-resources.ts'

/**
 * Scans ports of a network: `scan-ports.ts NETWORK PORT,PORT [STOP_AFTER]`. Writes the open ones and
 * the time as JSON. With a number it stops after so many results.
 */
const [network = '', ports = '', stopAfter] = process.argv.slice(2)
const startedAt = performance.now()
const controller = new AbortController()
const { addresses, scope } = await listTargets(network, { entries: [{ target: network }] })
const states: Record<string, number> = {}
const open: string[] = []
const options = { scope, signal: controller.signal, report: () => {} }
let count = 0
for await (const { address, port, state } of scanNetworks(
  addresses,
  ports.split(',').map(Number),
  options,
)) {
  states[state] = (states[state] ?? 0) + 1
  if (state === 'open') open.push(`${address} ${port}`)
  count++
  if (count === Number(stopAfter)) controller.abort()
}
const elapsedMs = Math.round(performance.now() - startedAt)
const left = await listOpenResources()
process.stdout.write(`${JSON.stringify({ open: open.toSorted(), states, elapsedMs, left })}\n`)
