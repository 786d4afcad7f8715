import type { Logger } from 'pino'
import { type ErrorCode, ShoalError } from '../shared/errors.ts'
import { parseJoinToken } from '../shared/join-token.ts'
import type { Signer } from '../shared/signing.ts'
import { wait as realWait, type Wait } from '../shared/wait.ts'
import { ENROL_PURPOSE, EnrolAnswer, type EnrolRequest } from '../shared/wire/announce.ts'
import { ENROL_PATH } from '../shared/wire/link.ts'
import { askCoordinator } from './ask.ts'
import { reconnectMs } from './backoff.ts'
import type { Identity } from './identity.ts'
import { fetchAuthority } from './pin.ts'

interface EnrolOptions {
  url: string
  /**
   * Join token as the operator entered it, with or without the fingerprint of the coordinator's
   * authority.
   */
  token: string
  name: string
  signer: Signer
  timeoutSeconds: number
  signal: AbortSignal
  logger: Logger
  wait?: Wait
  random?: () => number
  /** Unix time, milliseconds. */
  now?: () => number
}

/** Refusals that another try with the same token may overcome. */
const passing: ErrorCode[] = [
  'coordinator_unavailable',
  'rate_limited',
  'request_timeout',
  'internal',
  'cell_unavailable',
  'store_unavailable',
  'draining',
]

/**
 * Exchanges the one-time token for an identity. While the coordinator is away it tries again; a
 * token that is wrong, used or expired is `auth_required` or what else the coordinator says, and a
 * coordinator that did not make the token is `forbidden`.
 */
export const enrol = async (options: EnrolOptions): Promise<Identity> => {
  const { signal, logger, wait = realWait, random } = options
  for (let attempt = 0; ; attempt++) {
    try {
      return await enrolOnce(options)
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof ShoalError && passing.includes(error.code))) throw error
      logger.warn({ reason: error.message }, 'not enrolled yet; trying again')
      await wait(
        Math.max(reconnectMs(attempt, random), (error.retryAfterSeconds ?? 0) * 1000),
        signal,
      )
      signal.throwIfAborted()
    }
  }
}

/** One attempt; every failure is thrown. */
export const enrolOnce = async (options: EnrolOptions): Promise<Identity> => {
  const { url, now = Date.now } = options
  const token = parseJoinToken(options.token)
  if (token === undefined) throw new ShoalError('auth_required', 'this is not a join token')
  const ca = await fetchPinnedAuthority(options, token.fingerprint)
  const answer = await askCoordinator(
    { ...options, ca },
    {
      method: 'POST',
      path: ENROL_PATH,
      body: requestOf(options, token.secret),
      answer: EnrolAnswer,
    },
  )
  return {
    cell_id: answer.cell_id,
    credential: answer.credential,
    credential_at: now(),
    coordinator_url: url,
    ...(ca !== undefined && { coordinator_ca: ca }),
    ...(answer.signing_key !== undefined && { coordinator_key: answer.signing_key }),
    epoch: 0,
  }
}

/** A token that names its coordinator's authority goes nowhere else. */
const fetchPinnedAuthority = (options: EnrolOptions, fingerprint: string | undefined) => {
  if (fingerprint === undefined) return undefined
  if (new URL(options.url).protocol === 'https:') return fetchAuthority(options, fingerprint)
  throw new ShoalError('forbidden', 'this token is for a coordinator whose address is https://')
}

const requestOf = ({ name, signer }: EnrolOptions, token: string): EnrolRequest => {
  const claim = { token, name, public_key: signer.publicKey }
  return { ...claim, proof: signer.sign(ENROL_PURPOSE, claim) }
}
