import * as z from 'zod'
import { ShoalError } from '../../../shared/errors.ts'
import { DocumentError } from '../../../shared/foreign/document.ts'
import { readDocument } from '../../../shared/foreign/read-document.ts'
import type { Target } from '../../../shared/outbound/judge.ts'
import { SendError } from '../../../shared/outbound/send-error.ts'
import type { Sender } from '../../kernel/outbound/sender.ts'
import type { AgentCredentials } from './agent-credentials.ts'

interface RpcParts {
  sender: Pick<Sender, 'send'>
  /** Throws `invalid_request` for an address that must not be called. */
  admit: (url: string) => Target
  credentials: AgentCredentials
  maxAnswerBytes: number
  read?: typeof readDocument
}

/** Requests to external agents. All methods throw ShoalError. */
interface RemoteRpc {
  card(url: string, signal: AbortSignal): Promise<unknown>
  call(request: RpcCall, signal: AbortSignal): Promise<RpcAnswer>
}

interface RpcCall {
  url: string
  version: string
  body: object
  /** Address of the card that named `url`. */
  cardUrl: string
}

const RpcAnswer = z.object({
  result: z.unknown().optional(),
  error: z.object({ code: z.number(), message: z.string().default('') }).nullish(),
})
export type RpcAnswer = z.output<typeof RpcAnswer>

export const createRemoteRpc = (parts: RpcParts): RemoteRpc => {
  const { sender, admit, credentials, maxAnswerBytes, read = readDocument } = parts

  const send = async (
    { url, cardUrl }: { url: string; cardUrl: string },
    signal: AbortSignal,
    more: { method: 'GET' | 'POST'; body?: string; headers: Record<string, string> },
  ): Promise<unknown> => {
    const target = admit(url)
    const secrets = await credentials.headersFor(target, url, cardUrl)
    const headers = { accept: 'application/json', ...more.headers, ...secrets }
    const answer = await sender
      .send({ url, maxAnswerBytes, ...more, headers }, signal)
      .catch(rethrowSendError)
    if (answer.status < 200 || answer.status >= 300)
      throw createAgentUnavailableError(
        `the agent answered with status ${answer.status}${hintOf(answer.status)}`,
      )
    const document = await read(answer.body, { format: 'json' }).catch(rethrowDocumentError)
    return withoutSecrets(document, secretsIn(secrets))
  }

  return {
    card: (cardUrl, signal) =>
      send({ url: cardUrl, cardUrl }, signal, {
        method: 'GET',
        headers: { 'a2a-version': '1.0' },
      }),
    call: async ({ url, cardUrl, version, body }, signal) => {
      const answer = await send({ url, cardUrl }, signal, {
        method: 'POST',
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json', 'a2a-version': version },
      })
      const parsed = RpcAnswer.safeParse(answer)
      if (parsed.success) return parsed.data
      throw createAgentUnavailableError('the agent answered something that is not JSON-RPC')
    },
  }
}

/**
 * Minimum length of a secret that is redacted; shorter ones occur in ordinary text by chance, and
 * are too short to be secrets.
 */
const MIN_SECRET_CHARS = 8

const secretsIn = (headers: Record<string, string>): string[] =>
  Object.values(headers)
    .map(value => value.replace(/^Bearer /, ''))
    .filter(({ length }) => length >= MIN_SECRET_CHARS)

/**
 * Redacts secrets in an answer: an agent that echoes its request must not reveal our credential to
 * its users.
 */
const withoutSecrets = (answer: unknown, secrets: readonly string[]): unknown => {
  if (secrets.length === 0) return answer
  const text = JSON.stringify(answer)
  const told = secrets.map(secret => JSON.stringify(secret).slice(1, -1))
  if (!told.some(secret => text.includes(secret))) return answer
  return JSON.parse(told.reduce((rest, secret) => rest.replaceAll(secret, '***'), text))
}

const hintOf = (status: number): string =>
  status === 401 || status === 403
    ? '; its credentials for this service are set in conversations.agent_credentials'
    : ''

export const createAgentUnavailableError = (message: string, cause?: unknown): ShoalError =>
  new ShoalError('cell_unavailable', message, cause === undefined ? {} : { cause })

/** Time after which an answer is read again that waited behind too many documents. */
const READ_RETRY_SECONDS = 10

const rethrowDocumentError = (cause: unknown): never => {
  if (!(cause instanceof DocumentError)) throw cause
  if (cause.fault === 'damaged')
    throw createAgentUnavailableError('the agent answered something that is not JSON', cause)
  if (cause.fault !== 'busy')
    throw createAgentUnavailableError(`the agent's answer ${cause.message}`, cause)
  throw new ShoalError('rate_limited', `the agent's answer ${cause.message}`, {
    retryAfterSeconds: READ_RETRY_SECONDS,
    cause,
  })
}

const rethrowSendError = (error: unknown): never => {
  if (!(error instanceof SendError)) throw error
  const options = { cause: error }
  if (error.reason === 'refused') throw new ShoalError('invalid_request', error.message, options)
  if (error.reason === 'busy')
    throw new ShoalError('rate_limited', error.message, {
      retryAfterSeconds: Math.max(1, Math.ceil(error.retryAfterSeconds)),
    })
  throw new ShoalError('cell_unavailable', describeFailure(error), options)
}

/** Message for a failed request; an agent that answers too late or too much was reached. */
const describeFailure = ({ reason, message }: SendError): string =>
  reason === 'timed_out' || reason === 'too_large'
    ? `the agent answered too ${reason === 'too_large' ? 'much' : 'late'}: ${message}`
    : `the agent was not reached: ${message}`
