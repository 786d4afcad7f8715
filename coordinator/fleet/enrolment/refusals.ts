import type { Logger } from 'pino'
import { ShoalError } from '../../../shared/errors.ts'

/** Limits what a holder of a token's id can add to the audit, which is kept for years. */
const AUDIT_EVERY_MS = 3600 * 1000

/** Refused enrolments: the reason is logged but not returned to the requester. */
export class EnrolmentRefusals {
  readonly #logger: Pick<Logger, 'warn'> | undefined
  readonly #now: () => number
  /** Unix time of the last audit row by token and reason; holds only tokens that exist. */
  readonly #auditedAt = new Map<string, number>()

  constructor(logger: Pick<Logger, 'warn'> | undefined, now: () => number) {
    this.#logger = logger
    this.#now = now
  }

  /** True when this refusal must be audited: the first of its token and reason in an hour. */
  isNews(tokenId: string, reason: string): boolean {
    const key = `${tokenId} ${reason}`
    const at = this.#now()
    const last = this.#auditedAt.get(key) ?? Number.NEGATIVE_INFINITY
    if (at < last + AUDIT_EVERY_MS) return false
    this.#auditedAt.set(key, at)
    return true
  }

  /**
   * Returns the same error for every invalid token, so that callers cannot learn which tokens
   * exist.
   */
  refuse(reason: string, tokenId?: string): ShoalError {
    this.#logger?.warn({ token: tokenId, reason }, 'an enrolment was refused')
    return new ShoalError('auth_required', 'the join token is not valid')
  }
}
