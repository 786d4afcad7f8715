import http from 'node:http'
import https from 'node:https'
import type { Logger } from 'pino'
import { type ErrorCode, ShoalError } from '../shared/errors.ts'
import { wait as realWait, type Wait } from '../shared/wait.ts'
import { EnrolAnswer, type EnrolRequest } from '../shared/wire/announce.ts'
import { ENROL_PATH } from '../shared/wire/link.ts'
import { reconnectMs } from './backoff.ts'
import { coordinatorPath } from './coordinator-url.ts'
import { readStart, refusal, unreachable } from './refusal.ts'

export interface EnrolOptions {
  url: string
  request: EnrolRequest
  timeoutSeconds: number
  signal: AbortSignal
  logger: Logger
  wait?: Wait
  random?: () => number
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
 * token that is wrong, used or expired is `auth_required` or what else the coordinator says.
 */
export const enrol = async (options: EnrolOptions): Promise<EnrolAnswer> => {
  const { signal, logger, wait = realWait, random } = options
  for (let attempt = 0; ; attempt++) {
    try {
      return await ask(options)
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

const ask = async ({
  url,
  request,
  timeoutSeconds,
  signal,
}: EnrolOptions): Promise<EnrolAnswer> => {
  const target = coordinatorPath(url, ENROL_PATH)
  const deadline = AbortSignal.timeout(timeoutSeconds * 1000)
  try {
    const response = await post(target, request, AbortSignal.any([signal, deadline]))
    if (response.statusCode !== 200 && response.statusCode !== 201) throw await refusal(response)
    return understand(await readStart(response))
  } catch (cause) {
    const tooLate = new Error(`no answer within ${timeoutSeconds} s`)
    throw unreachable(target, deadline.aborted ? tooLate : cause)
  }
}

const understand = (text: string): EnrolAnswer => {
  try {
    return EnrolAnswer.parse(JSON.parse(text))
  } catch (cause) {
    throw new ShoalError('upgrade_required', 'the answer to the enrolment makes no sense', {
      cause,
    })
  }
}

const post = (target: URL, body: unknown, signal: AbortSignal): Promise<http.IncomingMessage> =>
  new Promise((resolve, reject) => {
    const { request } = target.protocol === 'https:' ? https : http
    request(target, {
      method: 'POST',
      agent: false,
      signal,
      headers: { 'content-type': 'application/json', accept: 'application/json' },
    })
      .on('response', resolve)
      .on('error', reject)
      .end(JSON.stringify(body))
  })
