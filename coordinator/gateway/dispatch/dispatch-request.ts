import type { OutgoingHttpHeaders } from 'node:http'
import type { ErrorCode } from '../../../shared/errors.ts'
import type { Runtime } from '../../../shared/runtime.ts'
import type { Usage } from '../../../shared/wire/openai.ts'
import type { AnswerHeaders } from '../../fleet/cells/cell-link.ts'
import type { AnswerMemory } from '../../fleet/questions/answer-hold.ts'
import type { CellEngine } from '../../fleet/routing/engine.ts'
import type { Share } from '../../kernel/budgets/budget.ts'
import type { ClientResponse } from './client-response.ts'
import type { RequestLane } from './lane.ts'

export interface Dispatch {
  path: string
  /** Id of the model, which the message names when no cell answers. */
  model?: string
  headers: OutgoingHttpHeaders
  body: Buffer
  /** Memory that a large body takes; closed when the body is not needed any more. */
  bodyShare?: Pick<Share, 'close'> | undefined
  /** The client's own answer. Nothing was written to it yet. */
  response: ClientResponse
  /** Headers for the client, whichever cell serves the request. */
  answerHeaders: OutgoingHttpHeaders
  /** True when the client asked for server-sent events. */
  stream: boolean
  memory: AnswerMemory
  /** Key whose share of the memory the answer takes. */
  keyId: string
  /** Chooses the next engine; it is given the cells that were tried. */
  pick: (tried: ReadonlySet<string>) => CellEngine | undefined
  /**
   * Queue for the request, notified of how cells served it; without a lane the request does not
   * wait.
   */
  lane?: RequestLane | undefined
  /** Records an outcome before the answer ends, so that an answered request is on record. */
  record: (outcome: DispatchOutcome) => Promise<void>
  /** Receives the code of an error that is sent to the client. */
  onError?: ((code: ErrorCode) => void) | undefined
  /** Looks at the head of an answer; false declines it, and the client never sees any of it. */
  accept?: (status: number, headers: AnswerHeaders) => boolean
  /**
   * True when `unavailable` is returned, with nothing written or recorded, if no cell takes the
   * request at once.
   */
  quiet?: boolean
  runtime: Pick<Runtime, 'nowMs' | 'setImmediate'>
}

/** Result of a dispatch. Only `done` has written to the client and made a record. */
export type DispatchResult = { kind: 'done' } | DeclinedAnswer | { kind: 'unavailable' }

export interface DeclinedAnswer {
  kind: 'declined'
  cellId: string
  /**
   * Usage the cell reported before its answer ended or was cut; undefined when it reported none.
   */
  usage: Usage | undefined
  httpStatus: number
  /**
   * Gives the client the answer after all. Undefined for a stream, which was cut, and for an answer
   * that was discarded, perhaps because its memory was needed.
   */
  readonly deliver: (() => Promise<void>) | undefined
  /** Discards the request. The owner calls it for an answer that is not delivered. */
  discard(): void
}

export interface DispatchOutcome {
  status: 'ok' | 'cancelled' | 'failed' | 'refused'
  /** The last cell that had the request. */
  cellId: string | undefined
  /**
   * Token usage; partial for a stream that broke off (see `PartialUsage`), undefined when unknown.
   */
  usage: Usage | undefined
  /** Status the client was sent; undefined when it left before. */
  httpStatus: number | undefined
  /** Time at which the client's stream began, in monotonic milliseconds; undefined without one. */
  beganAtMs?: number | undefined
  /** Cells that had the request without answering it. */
  retries?: number
}
