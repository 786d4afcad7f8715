import * as z from 'zod'
import { ShoalError } from '../../../shared/errors.ts'
import { runTogether } from '../../net/run-together.ts'
import { resolveTarget } from '../../resolve-target.ts'
import type { ScanContext, ScanRun } from '../../scan-run.ts'
import { type Fingerprint, fingerprint } from './http/fingerprint.ts'

const Place = z.strictObject({
  host: z.string().min(1).max(253),
  port: z.int().min(1).max(65_535).exactOptional(),
})
type Place = z.infer<typeof Place>

/** `discovery.modules.http-fingerprint` of a cell. */
export const config = z.strictObject({
  hosts: z
    .array(Place)
    .max(64)
    .default([])
    .describe('Hosts that are identified when a request names none.'),
})

/** Longest wait for one answer, in milliseconds. */
const TIMEOUT_MS = 1500
/** Hosts that are identified at once. */
const CONCURRENCY = 4
/** Ports to try where none is given, in this order. */
const WEB_PORTS = [443, 80]

const run: ScanRun<Partial<Place>, Fingerprint> = async function* (input, context) {
  const { signal } = context
  const { host, ...port } = input
  const places: Place[] = host === undefined ? listConfigured(context.config) : [{ host, ...port }]
  const work = (place: Place) =>
    places.length === 1 ? identify(place, context) : tryTo(place, context)
  for await (const found of runTogether(places, CONCURRENCY, signal, work))
    if (found !== undefined) yield found
}

export default run

const listConfigured = (configured: unknown): Place[] => {
  const { hosts } = config.parse(configured ?? {})
  if (hosts.length > 0) return hosts
  throw new ShoalError(
    'invalid_request',
    'no host to identify: name it in the input, or in discovery.modules.http-fingerprint.hosts',
  )
}

/** One of several hosts that fails, as one outside the scope does, fails alone. */
const tryTo = (place: Place, context: ScanContext): Promise<Fingerprint | undefined> =>
  identify(place, context).catch((error: Error) => {
    const isDenied = error instanceof ShoalError && error.code === 'scope_denied'
    context.warn(isDenied ? 'out_of_scope' : 'partial_result', error.message.slice(0, 500))
    return undefined
  })

const identify = async (
  { host, port }: Place,
  context: ScanContext,
): Promise<Fingerprint | undefined> => {
  const { addresses, scope } = await resolveTarget(context.scope, host)
  const [address = host] = addresses
  const reasons: string[] = []
  for (const each of port === undefined ? WEB_PORTS : [port]) {
    if (context.signal.aborted) return undefined
    try {
      const { signal } = context
      return await fingerprint({ host, address, scope, port: each, signal, timeoutMs: TIMEOUT_MS })
    } catch (error) {
      reasons.push(`${each}: ${(error as Error).message}`)
    }
  }
  context.warn('partial_result', `${host} gave no web page (${reasons.join('; ')})`.slice(0, 500))
  return undefined
}
