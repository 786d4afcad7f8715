import { ShoalError } from '../../../shared/errors.ts'

/** Limits on simultaneous streams, in total and per key. */
export interface StreamPlaces {
  /** Answers how to give the place back. Throws `rate_limited`. */
  take(keyId: string): () => void
  count(): number
}

const RETRY_AFTER_SECONDS = 10

export const createStreamPlaces = (limits: { all: number; perKey: number }): StreamPlaces => {
  const byKey = new Map<string, number>()
  let count = 0
  const refuse = (message: string): never => {
    throw new ShoalError('rate_limited', message, { retryAfterSeconds: RETRY_AFTER_SECONDS })
  }
  return {
    count: () => count,
    take: keyId => {
      const own = byKey.get(keyId) ?? 0
      if (own >= limits.perKey) refuse(`a key may have at most ${limits.perKey} open streams`)
      if (count >= limits.all)
        refuse(`the coordinator has ${limits.all} open streams, which is its limit`)
      byKey.set(keyId, own + 1)
      count++
      let given = false
      return () => {
        if (given) return
        given = true
        count--
        const left = (byKey.get(keyId) ?? 1) - 1
        if (left === 0) byKey.delete(keyId)
        else byKey.set(keyId, left)
      }
    },
  }
}
