import * as z from 'zod'
import { ShoalError } from '../../../shared/errors.ts'
import { runTogether } from '../../net/run-together.ts'
import { shakeHands } from '../../net/shake-hands.ts'
import type { TlsFacts } from '../../net/tls-facts.ts'
import { resolveTarget } from '../../resolve-target.ts'
import type { ScanContext, ScanRun } from '../../scan-run.ts'
import { type CheckedEndpoint, parseEndpoint } from './tls/parse-endpoint.ts'

/** `discovery.modules.tls-cert-check` of a cell. */
export const config = z.strictObject({
  domains: z
    .array(z.string().min(1).max(260))
    .max(50)
    .default([])
    .describe('Endpoints that are checked when a request names none.'),
  warn_days: z
    .int()
    .min(1)
    .max(365)
    .default(30)
    .describe('Days before the expiry of a certificate from which it is graded `expiring`.'),
})
type Config = z.output<typeof config>

interface CertificateRow extends CheckedEndpoint {
  address: string | null
  reachable: boolean
  error: string | null
  tls: TlsFacts | null
  grade: 'ok' | 'expiring' | 'expired' | 'invalid' | 'unreachable' | 'out_of_scope'
}

const CONCURRENCY = 10
const TIMEOUT_MS = 5000

const run: ScanRun<{ domains?: string[] }, CertificateRow> = async function* (input, context) {
  const { domains: configured, warn_days } = config.parse(context.config ?? {})
  const domains = [...new Set(input.domains ?? configured)]
  if (domains.length === 0)
    throw new ShoalError(
      'invalid_request',
      'no domains to check: name them in the input, or in discovery.modules.tls-cert-check.domains',
    )
  yield* runTogether(domains, CONCURRENCY, context.signal, domain =>
    checkEndpoint(parseEndpoint(domain), context, warn_days),
  )
}

export default run

const checkEndpoint = async (
  endpoint: CheckedEndpoint,
  context: ScanContext,
  warnDays: Config['warn_days'],
): Promise<CertificateRow> => {
  const { host, port } = endpoint
  const row = { ...endpoint, address: null, reachable: false, tls: null }
  try {
    const { addresses, scope } = await resolveTarget(context.scope, host)
    const [address = host] = addresses
    const { signal } = context
    const tls = await shakeHands({ host, port, address, scope, signal, timeoutMs: TIMEOUT_MS })
    return {
      ...endpoint,
      address,
      reachable: true,
      error: null,
      tls,
      grade: gradeOf(tls, warnDays),
    }
  } catch (error) {
    const isDenied = error instanceof ShoalError && error.code === 'scope_denied'
    const { message } = error as Error
    return {
      ...row,
      error: message.slice(0, 300),
      grade: isDenied ? 'out_of_scope' : 'unreachable',
    }
  }
}

const gradeOf = (tls: TlsFacts, warnDays: number): CertificateRow['grade'] => {
  if (tls.expired) return 'expired'
  if (!tls.chain_valid || tls.hostname_match === false) return 'invalid'
  return tls.days_left < warnDays ? 'expiring' : 'ok'
}
