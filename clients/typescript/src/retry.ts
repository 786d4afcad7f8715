import { ShoalError } from './errors.ts'

/** Attempts of one call in all (interface specification, section 7). */
export const MAX_ATTEMPTS = 3

/** Longest pause requested by a coordinator that a call waits for. */
export const MAX_WAIT_SECONDS = 60

const REFUSED = [408, 429, 503]
const UNANSWERED = [0, 502, 504]

/**
 * Seconds until the next attempt, or undefined when there is none. `attempt` counts from 1. The
 * pause is 2 ** attempt seconds, or the value of Retry-After, plus up to one random second. A call
 * that may have taken effect is only retried when it is repeatable.
 */
export const waitSeconds = (
  error: unknown,
  attempt: number,
  canRepeat: boolean,
  random: () => number = Math.random,
): number | undefined => {
  if (!(error instanceof ShoalError) || attempt >= MAX_ATTEMPTS) return undefined
  const again = REFUSED.includes(error.status) || (UNANSWERED.includes(error.status) && canRepeat)
  if (!again) return undefined
  const pause = (error.retryAfterSeconds ?? 2 ** attempt) + random()
  return pause <= MAX_WAIT_SECONDS ? pause : undefined
}

/** Routes that change something without keeping to an `Idempotency-Key`. */
const UNKEYED = /^\/(v1\/(chat\/completions|completions|embeddings|responses)|a2a|mcp)(?![\w-])/

/** True when repeating the request has no further effect. */
export const isRepeatable = (method: string, path: string): boolean =>
  method === 'GET' || !UNKEYED.test(path)

/**
 * Seconds requested by `Retry-After`, given in seconds or, by proxies, as a date (RFC 9110, section
 * 10.2.3). `now` is Unix time in milliseconds.
 */
export const parseRetryAfter = (text: string | null, now: number): number | undefined => {
  if (text === null) return undefined
  if (/^\d{1,9}$/.test(text)) return Number(text)
  const at = /^[A-Z][a-z]{2}, /.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(at) ? undefined : Math.max(0, (at - now) / 1000)
}

/** Waits for a time; rejects with the signal's reason as soon as it aborts. */
export const pause = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const leave = (): void => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', leave)
      resolve()
    }, ms)
    if (signal?.aborted) leave()
    else signal?.addEventListener('abort', leave, { once: true })
  })
