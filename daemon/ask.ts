// not undici: a refusal is read like that of an upgrade (uplink/dial.ts), and nothing more is loaded
import http from 'node:http'
import https from 'node:https'
import type * as z from 'zod'
import { ShoalError } from '../shared/errors.ts'
import { HEADER_BOOT_ID, HEADER_PROBE, pathOfCell } from '../shared/wire/link.ts'
import { coordinatorPath } from './coordinator-url.ts'
import type { Identity } from './identity.ts'
import type { OwnIdentity } from './own-identity.ts'
import { createUnreachableError, readRefusalError, readStart } from './refusal.ts'

/** Identity of the requester, and the address and authority of the coordinator that must answer. */
export interface CoordinatorAccess {
  /** Address of the coordinator. */
  url: string
  /** Certificate of the one authority that may vouch for it, PEM; the system's ones without. */
  ca?: string | undefined
  authorization?: string
  /** The start of the daemon that asks. */
  bootId?: string | undefined
  /** True for a diagnostic request that does not come from the running daemon. */
  probe?: boolean
  timeoutSeconds: number
  signal: AbortSignal
}

interface CoordinatorQuestion<T extends z.ZodType> {
  method: 'GET' | 'POST'
  path: string
  body?: unknown
  answer: T
}

/**
 * One question to the coordinator. A refusal is a ShoalError with its code and words; no answer is
 * `coordinator_unavailable`; an answer that makes no sense is `upgrade_required`.
 */
export const askCoordinator = async <T extends z.ZodType>(
  asker: CoordinatorAccess,
  question: CoordinatorQuestion<T>,
): Promise<z.output<T>> => {
  const target = coordinatorPath(asker.url, question.path)
  const deadline = AbortSignal.timeout(asker.timeoutSeconds * 1000)
  try {
    const signal = AbortSignal.any([asker.signal, deadline])
    const response = await send(target, asker, question, signal)
    if (response.statusCode !== 200 && response.statusCode !== 201)
      throw await readRefusalError(response)
    return understand(await readStart(response), question)
  } catch (cause) {
    const tooLate = new Error(`no answer within ${asker.timeoutSeconds} s`)
    throw createUnreachableError(target, deadline.aborted ? tooLate : cause)
  }
}

/** Authorization of a cell (RFC 7617). */
export const basic = (cellId: string, credential: string): string =>
  `Basic ${Buffer.from(`${cellId}:${credential}`).toString('base64')}`

/** A question of this cell about itself, with the credential that it has now or another one. */
export const askAsCell = <T extends z.ZodType>(
  identity: Pick<Identity, 'cell_id' | 'credential' | 'coordinator_ca'> &
    Partial<Pick<OwnIdentity, 'boot_id'>>,
  asker: Pick<CoordinatorAccess, 'url' | 'timeoutSeconds' | 'signal' | 'probe'>,
  question: CoordinatorQuestion<T>,
): Promise<z.output<T>> =>
  askCoordinator(
    {
      ...asker,
      ca: identity.coordinator_ca,
      bootId: identity.boot_id,
      authorization: basic(identity.cell_id, identity.credential),
    },
    { ...question, path: pathOfCell(question.path, identity.cell_id) },
  )

const understand = <T extends z.ZodType>(
  text: string,
  { path, answer }: CoordinatorQuestion<T>,
) => {
  try {
    return answer.parse(JSON.parse(text))
  } catch (cause) {
    throw new ShoalError('upgrade_required', `the answer to ${path} is invalid`, { cause })
  }
}

const send = (
  target: URL,
  { ca, authorization, bootId, probe }: CoordinatorAccess,
  { method, body }: CoordinatorQuestion<z.ZodType>,
  signal: AbortSignal,
): Promise<http.IncomingMessage> =>
  new Promise((resolve, reject) => {
    const { request } = target.protocol === 'https:' ? https : http
    request(target, {
      method,
      agent: false,
      signal,
      ...(ca !== undefined && { ca }),
      headers: {
        accept: 'application/json',
        ...(authorization !== undefined && { authorization }),
        ...(bootId !== undefined && { [HEADER_BOOT_ID]: bootId }),
        ...(probe && { [HEADER_PROBE]: '1' }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
    })
      .on('response', resolve)
      .on('error', reject)
      .end(body === undefined ? undefined : JSON.stringify(body))
  })
