import { ShoalError } from '../../../shared/errors.ts'
import type { Budget, Share } from '../../kernel/budgets/budget.ts'
import { Transfer, type Transfers } from './transfers.ts'

/** Memory for answers: its bounds, and the progress of those who fill and read it. */
export interface AnswerMemory {
  budget: Budget<'key' | 'cell'>
  transfers: Transfers
}

/** Reason to end the use of memory: no progress, or a smaller holder needs the room. */
export type CutReason = 'stalled' | 'reclaimed'

/** User of the memory, which must stop using it within the call. */
export interface HoldOwner {
  onCut(reason: CutReason): void
}

/** Bytes that need no share: a request takes about as much by itself. */
export const FREE_BYTES = 8192

/** Memory that one answer takes: counted for its key, and for its cell until it is whole. */
export class AnswerHold {
  readonly #memory: AnswerMemory
  readonly #keyId: string
  /** Undefined while nothing may cut the answer. */
  #owner: HoldOwner | undefined
  #cellId: string | undefined
  #bytes = 0
  #share: Share | undefined
  #transfer: Transfer | undefined

  /** @param cellId cell that sends the answer; undefined for bytes that only wait for the client */
  constructor(memory: AnswerMemory, keyId: string, cellId: string | undefined, owner: HoldOwner) {
    this.#memory = memory
    this.#keyId = keyId
    this.#cellId = cellId
    this.#owner = owner
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Limit that refused the last take. */
  get refusedBy(): string | undefined {
    return this.#share?.refusedBy
  }

  /** Returns false, and takes nothing, when a bound would be exceeded. */
  take(bytes: number): boolean {
    const wanted = this.#bytes + bytes
    if (wanted > FREE_BYTES) {
      this.#share ??= this.#openShare()
      if (!this.#share.take(wanted - this.#share.held)) return false
    }
    this.#bytes = wanted
    this.#transfer?.advance(bytes)
    return true
  }

  /** Gives back what the client has read. */
  give(bytes: number): void {
    this.#bytes -= bytes
    this.#share?.give(Math.min(bytes, this.#share.held))
    this.#transfer?.advance(bytes)
  }

  /** Requires progress from now on, of the cell or of the client. */
  watch(graceSweeps: number): void {
    this.#endTransfer()
    this.#transfer = new Transfer(graceSweeps, () => this.#owner?.onCut('stalled'))
    this.#memory.transfers.start(this.#transfer)
  }

  get isWatched(): boolean {
    return this.#transfer !== undefined
  }

  /**
   * Notes that the answer is whole: its cell has done its part, and nobody has to advance. Nothing
   * cuts it, since it goes on record as given, until it has an owner again.
   */
  settle(): void {
    this.#endTransfer()
    this.#cellId = undefined
    this.#changeOwner(undefined)
  }

  passTo(owner: HoldOwner): void {
    this.#changeOwner(owner)
  }

  #changeOwner(owner: HoldOwner | undefined): void {
    this.#owner = owner
    if (this.#share === undefined || this.#bytes === 0) return
    this.#share.close()
    this.#share = this.#openShare()
    this.#share.force(this.#bytes)
  }

  close(): void {
    this.#endTransfer()
    this.#share?.close()
    this.#bytes = 0
  }

  #openShare(): Share {
    const key = this.#keyId
    const holders = this.#cellId === undefined ? { key } : { key, cell: this.#cellId }
    const owner = this.#owner
    return this.#memory.budget.open(holders, owner && (() => owner.onCut('reclaimed')))
  }

  #endTransfer(): void {
    if (this.#transfer === undefined) return
    this.#memory.transfers.end(this.#transfer)
    this.#transfer = undefined
  }
}

export const createBusyError = (): ShoalError =>
  new ShoalError('cell_unavailable', 'too many large answers are on their way to clients', {
    retryAfterSeconds: 1,
  })

/** Part of a key's share that is left to answers under way: new requests are refused before it. */
const RESERVED_PART = 1 / 4

/**
 * Refuses a request of a key that has nearly used up its share, before a cell works for an answer that
 * could not be kept.
 * @throws ShoalError rate_limited
 */
export const requireKeyRoom = ({ budget }: Pick<AnswerMemory, 'budget'>, keyId: string): void => {
  if (budget.readUse('key', keyId) > budget.limits.per.key * (1 - RESERVED_PART))
    throw createKeyBoundError()
}

/**
 * Creates the error of a key that has not read its answers. It is not a 503: no other cell could
 * help, and neither can a retry before the key has read.
 */
export const createKeyBoundError = (): ShoalError =>
  new ShoalError(
    'rate_limited',
    'answers to this key that it has not read take all the memory that a key may use; read them, then retry',
    { retryAfterSeconds: 5 },
  )
