import type { IncomingMessage } from 'node:http'
import * as z from 'zod'
import { type ErrorCode, isErrorCode, ShoalError } from '../shared/errors.ts'

const MAX_BODY_BYTES = 16 * 1024

const Body = z.object({ error: z.object({ message: z.string(), code: z.unknown().optional() }) })

/**
 * Error codes for answers without shoal's error body, for instance from a proxy. 401 is excluded:
 * only the coordinator itself can reject a credential.
 */
const codeOfStatus: Record<number, ErrorCode> = {
  403: 'forbidden',
  404: 'not_found',
  421: 'host_not_allowed',
  422: 'invalid_request',
  426: 'upgrade_required',
  429: 'rate_limited',
}

/** The coordinator's answer that was not the one hoped for, as an error with its own words. */
export const readRefusalError = async (response: IncomingMessage): Promise<ShoalError> => {
  const status = response.statusCode ?? 0
  const body = Body.safeParse(tryParseJson(await readStart(response)))
  const told = body.success ? body.data.error : undefined
  const code = isErrorCode(told?.code)
    ? told.code
    : (codeOfStatus[status] ?? 'coordinator_unavailable')
  const seconds = Number.parseInt(response.headers['retry-after'] ?? '', 10)
  return new ShoalError(code, toPrintable(told?.message) ?? `the coordinator answered ${status}`, {
    ...(seconds > 0 && { retryAfterSeconds: seconds }),
  })
}

/**
 * True when the coordinator accepted the request but its answer is unintelligible; a refusal has no
 * cause.
 */
export const isPoorAnswer = (error: unknown): boolean =>
  error instanceof ShoalError && error.code === 'upgrade_required' && error.cause !== undefined

/** Foreign words as they may stand on a terminal. */
const toPrintable = (text: string | undefined): string | undefined =>
  text?.replace(/\p{C}+/gu, ' ').slice(0, 500)

const tryParseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The first bytes of an answer; a peer that never stops talking is cut off. */
export const readStart = async (response: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes >= MAX_BODY_BYTES) break
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** A failed connection in plain words; a name with several addresses fails with several errors. */
export const createUnreachableError = (url: URL, cause: unknown): ShoalError => {
  if (cause instanceof ShoalError) return cause
  const first = (cause instanceof AggregateError ? cause.errors[0] : cause) as NodeJS.ErrnoException
  return new ShoalError(
    'coordinator_unavailable',
    `cannot reach ${url.origin}: ${describeCause(first)}`,
    {
      cause,
    },
  )
}

/**
 * Explanations of the error codes of node and OpenSSL (node: doc/api/tls.md, "X509 certificate
 * error codes").
 */
const certificateFaults: Record<string, string> = {
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for other names',
  CERT_HAS_EXPIRED: 'its certificate has expired, or the clock of this machine is wrong',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet, or the clock of this machine is wrong',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is not from an authority that this cell trusts',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is not from an authority that this cell trusts',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate is not from an authority that this cell trusts',
  UNABLE_TO_GET_ISSUER_CERT: 'its certificate is not from an authority that this cell trusts',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    'its certificate is not from an authority that this cell trusts',
  CERT_SIGNATURE_FAILURE: 'its certificate is not from the authority that this cell has pinned',
  EPROTO: 'it does not speak TLS',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not speak TLS',
}

const describeCause = ({ code = '', message }: NodeJS.ErrnoException): string =>
  code in certificateFaults ? `${certificateFaults[code]} (${code})` : message
