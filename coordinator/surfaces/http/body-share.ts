import { ShoalError } from '../../../shared/errors.ts'
import type { Budgets } from '../../kernel/budgets/budgets.ts'
import { limitFlush } from './cut-answer.ts'
import type { HttpExchange } from './exchange.ts'

/** Bytes of a body that need no share: the head of a request may be as large. */
const FREE_BODY_BYTES = 16 * 1024

/** A request whose body is counted for its key, or for its address without a valid key. */
type BodyHolder = Pick<HttpExchange, 'key' | 'address' | 'bodyShare'> & {
  response: Parameters<typeof limitFlush>[0]
}

/**
 * Counts a body that has grown to `bytes` for the key of its request, until the body is released or
 * the response has closed. Returns the refusal when there is no room.
 * @param onReclaim refuses the request, whose body must not grow any more, within the call: a key
 *   that holds less needs the memory
 */
export const growBody = (
  budget: Budgets['requestBodies'],
  exchange: BodyHolder,
  bytes: number,
  onReclaim: (refusal: ShoalError) => void,
): ShoalError | undefined => {
  if (bytes <= FREE_BODY_BYTES) return undefined
  if (exchange.bodyShare === undefined) openShare(budget, exchange, onReclaim)
  const share = exchange.bodyShare
  if (share === undefined || share.take(bytes - share.held)) return undefined
  return createBoundError(share.refusedBy === 'key')
}

const openShare = (
  budget: Budgets['requestBodies'],
  exchange: BodyHolder,
  onReclaim: (refusal: ShoalError) => void,
): void => {
  const { response, key } = exchange
  const share = budget.open({ key: key?.id ?? exchange.address }, () => {
    onReclaim(createBoundError(false))
    // the body stays in memory until the response has closed
    limitFlush(response)
  })
  exchange.bodyShare = share
  response.once('close', () => share.close())
}

const createBoundError = (isOfKey: boolean): ShoalError => {
  const whose = isOfKey ? 'of this key' : 'of all keys'
  const message = `request bodies ${whose} take all the memory that they may use; wait for answers, then retry`
  return new ShoalError('rate_limited', message, { retryAfterSeconds: 1 })
}
