import type { OutgoingHttpHeaders } from 'node:http'
import { formatIgnoredHeader, HEADER_IGNORED, type Ignored } from '../../../shared/wire/ignored.ts'
import {
  createIgnoredError,
  type RequestRules,
  readRequest,
} from '../../../shared/wire/read-request.ts'
import type { Key } from '../../kernel/declaration/key.ts'
import type { HttpExchange } from './exchange.ts'

/**
 * Reads the body of an exchange; what nobody reads is left out of what a cell gets. Throws
 * `invalid_request` and `unsupported_parameter`.
 */
export const takeBody = <T>(exchange: HttpExchange, rules: RequestRules<T>): T => {
  const { request, ignored, isChanged } = readRequest(rules, exchange.body)
  requireNoneIgnored(exchange.key, ignored)
  exchange.ignored = ignored
  if (isChanged) {
    exchange.body = request
    exchange.rawBody = Buffer.from(JSON.stringify(request))
  }
  return request
}

/** Throws `invalid_request` for a key that wants nothing to be ignored. */
export const requireNoneIgnored = (
  key: Pick<Key, 'strict'> | undefined,
  [first]: readonly Ignored[],
): void => {
  if (first !== undefined && key?.strict) throw createIgnoredError(first)
}

/** Headers of an answer that name what its request has and nobody read. */
export const nameIgnored = (
  headers: OutgoingHttpHeaders,
  ignored: readonly Ignored[] = [],
): OutgoingHttpHeaders => {
  const names = formatIgnoredHeader(ignored)
  return names === undefined ? headers : { ...headers, [HEADER_IGNORED]: names }
}
