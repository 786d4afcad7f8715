import { listTargets } from '../../../net/list-targets.ts'
import type { PortResult } from '../../../net/port-scan.ts'
import { LLM_PORTS } from '../../../net/port-sets.ts'
import { runTogether } from '../../../net/run-together.ts'
import { scanNetworks } from '../../../net/scan-networks.ts'
import type { ScanContext } from '../../../scan-run.ts'
import { identifyRuntime } from './identify-runtime.ts'
import { openRuntimePort } from './open-runtime-port.ts'
import type { Runtime } from './runtime.ts'

/** Longest time to name one port, in milliseconds, and to wait for one answer of it. */
const PORT_MS = 3000
const ANSWER_MS = 1500
/** Ports that are named at once. */
const CONCURRENCY = 32

/** Scans a network, or loopback and the scope, and names the runtimes that it finds. */
export async function* findRuntimes(
  subnet: string | undefined,
  context: ScanContext,
): AsyncGenerator<Runtime> {
  const { addresses, scope, isCut } = await listTargets(subnet, context.scope)
  if (isCut)
    context.warn('partial_result', `only ${addresses.length} addresses of the scope are scanned`)
  const open: PortResult[] = []
  for await (const result of scanNetworks(addresses, LLM_PORTS, { ...context, scope }))
    if (result.state === 'open') open.push(result)
  const named = runTogether(withoutTwins(open), CONCURRENCY, context.signal, result =>
    nameRuntime(result, { ...context, scope }),
  )
  for await (const runtime of named) if (runtime !== undefined) yield runtime
}

/** A server that listens on both loopback addresses is one server. */
const withoutTwins = (open: readonly PortResult[]): PortResult[] =>
  open.filter(
    ({ address, port }) =>
      address !== '::1' ||
      !open.some(other => other.address === '127.0.0.1' && other.port === port),
  )

const nameRuntime = async (
  { address, port }: PortResult,
  { scope, signal: ended }: Pick<ScanContext, 'scope' | 'signal'>,
): Promise<Runtime | undefined> => {
  const signal = AbortSignal.any([ended, AbortSignal.timeout(PORT_MS)])
  const target = { host: address, address, port, scope, signal, timeoutMs: ANSWER_MS }
  const endpoint = await openRuntimePort(target)
  return endpoint === undefined ? undefined : identifyRuntime(endpoint)
}
