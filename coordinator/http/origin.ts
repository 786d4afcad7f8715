import { ShoalError } from '../../shared/errors.ts'
import { isLoopback } from '../config.ts'

/**
 * A page of somebody else's must not speak through the browser of a user (MCP 2026-07-28, streamable
 * HTTP, security). Programs send no Origin. Throws `origin_not_allowed`.
 */
export const requireOwnOrigin = (origin: string | undefined, hosts: ReadonlySet<string>): void => {
  if (origin === undefined) return
  const host = URL.parse(origin)?.hostname
  if (host !== undefined && (hosts.has(host) || isLoopback(host))) return
  throw new ShoalError(
    'origin_not_allowed',
    `requests from pages of ${JSON.stringify(origin)} are not allowed`,
  )
}
