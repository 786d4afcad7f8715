import type { CallProgress } from '../../shared/wire/answer-events.ts'
import type { ScanScope } from '../../shared/wire/scan-scope.ts'
import { type PortResult, PortScan } from './port-scan.ts'
import { findPresentHosts } from './present-hosts.ts'

interface NetworkScanOptions {
  scope: ScanScope
  signal: AbortSignal
  report(progress: CallProgress): void
}

/**
 * Scans ports of addresses. Those on the link are resolved first, and only hosts that answer are
 * probed; those that answer late are probed at the end.
 */
export async function* scanNetworks(
  addresses: readonly string[],
  ports: readonly number[],
  options: NetworkScanOptions,
): AsyncGenerator<PortResult> {
  const { first, isUp, listLate } = await findPresentHosts(addresses, options)
  yield* count(new PortScan(first, ports, { ...options, isUp }).run(), first.length, ports, options)
  yield* new PortScan(await listLate(), ports, { ...options, isUp: () => true }).run()
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
