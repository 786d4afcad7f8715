import { wait } from '../../shared/wait.ts'
import type { CallProgress } from '../../shared/wire/answer-events.ts'
import type { ScanScope } from '../../shared/wire/scan-scope.ts'
import { readAttachedLinks } from './attached-links.ts'
import { sweepNeighbours } from './neighbour-sweep.ts'
import { readNeighbours } from './neighbour-table.ts'
import { type PortResult, PortScan } from './port-scan.ts'

/** Time after the sweep in which a host may still answer ARP, such as one with a sleeping radio. */
const LATE_MS = 500

export interface NetworkScanOptions {
  scope: ScanScope
  signal: AbortSignal
  report(progress: CallProgress): void
}

/**
 * Scans ports of addresses. Those on the link are asked by ARP first, and only who is there is
 * probed; who answered late is probed at the end.
 */
export async function* scanNetworks(
  addresses: readonly string[],
  ports: readonly number[],
  options: NetworkScanOptions,
): AsyncGenerator<PortResult> {
  const { isOwn, isOnLink } = readAttachedLinks()
  const onLink = addresses.filter(address => !isOwn(address) && isOnLink(address))
  const found = await sweepNeighbours(onLink, options)
  const sweptAt = performance.now()
  const isAbsent = new Set(found === undefined ? [] : onLink.filter(each => !found.has(each)))
  const isUp = (address: string): boolean => isOwn(address) || (found?.has(address) ?? false)
  const first = addresses.filter(each => !isAbsent.has(each))
  yield* count(new PortScan(first, ports, { ...options, isUp }).run(), first.length, ports, options)
  const late = await listLate(isAbsent, sweptAt, options)
  yield* new PortScan(late, ports, { ...options, isUp: () => true }).run()
}

/** Hosts that the first sweep missed and that have answered by now, such as sleeping ones. */
const listLate = async (
  absent: ReadonlySet<string>,
  sweptAt: number,
  { signal }: NetworkScanOptions,
): Promise<string[]> => {
  if (absent.size === 0 || signal.aborted) return []
  await wait(Math.max(0, LATE_MS - (performance.now() - sweptAt)), signal)
  const table = await readNeighbours()
  return [...absent].filter(address => table?.has(address))
}

async function* count(
  results: AsyncIterable<PortResult>,
  hosts: number,
  ports: readonly number[],
  { report }: NetworkScanOptions,
): AsyncGenerator<PortResult> {
  const total = hosts * ports.length
  let done = 0
  for await (const result of results) {
    done++
    report({ done: Math.min(done, total), total })
    yield result
  }
}
