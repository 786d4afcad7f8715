import { ShoalError } from '../../../shared/errors.ts'
import { isLoopback } from '../../kernel/base/is-loopback.ts'
import type { CorsPolicy } from './cors.ts'

/**
 * Rejects requests that a page of another origin sends through a user's browser (MCP 2026-07-28,
 * streamable HTTP, security). Programs send no Origin. Throws `origin_not_allowed`.
 */
export const requireOwnOrigin = (
  origin: string | undefined,
  hosts: ReadonlySet<string>,
  cors: Pick<CorsPolicy, 'allows'>,
): void => {
  if (origin === undefined || cors.allows(origin)) return
  const host = URL.parse(origin)?.hostname
  if (host !== undefined && (hosts.has(host) || isLoopback(host))) return
  throw new ShoalError(
    'origin_not_allowed',
    `requests from pages of ${JSON.stringify(origin)} are not allowed; see http.cors_origins`,
  )
}
