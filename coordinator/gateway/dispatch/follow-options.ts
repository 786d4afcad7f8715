import type { AnswerHeaders } from '../../fleet/cells/cell-link.ts'
import type { AnswerMemory } from '../../fleet/questions/answer-hold.ts'
import type { ClientAnswer } from './client-answer.ts'

/** Members of the client's answer that an attempt uses; the reader of a probe has them too. */
type AnswerReader = Pick<ClientAnswer, 'isGone' | 'isStalled' | 'start' | 'write' | 'drop'>

export interface FollowOptions {
  client: AnswerReader
  memory: AnswerMemory
  /** Key whose share of the memory the answer takes. */
  keyId: string
  /** True when the client asked for server-sent events. */
  streaming: boolean
  /** Monotonic milliseconds. */
  nowMs: () => number
  accept: ((status: number, headers: AnswerHeaders) => boolean) | undefined
  /** Runs before the first byte is forwarded; from then on no other cell can take over. */
  onStart: () => void
  /**
   * Returns the time without progress after which the cell counts as hanging, in milliseconds;
   * undefined while it loads the model.
   */
  limitMs?: (hasBegun: boolean) => number | undefined
}
