import type { Logger } from 'pino'
import type { Store } from '../../kernel/store/store.ts'
import { raiseAnchors } from './usage-anchors.ts'
import { findChangedUsage, findMissingUsage, joinLosses, type UsageLoss } from './usage-check.ts'
import { describeLosses } from './usage-losses.ts'

interface UsageWatchParts {
  store: Pick<Store, 'ledger' | 'records' | 'isShared'>
  logger: Pick<Logger, 'error' | 'warn'>
}

/** Hours that are logged one by one. */
const LOGGED = 10

/** Knows whether usage is missing: by the ledger at once, by the rows themselves a moment later. */
export class UsageWatch {
  readonly #parts: UsageWatchParts
  readonly #closing = new AbortController()
  #missing: UsageLoss[] = []
  #changed: UsageLoss[] = []
  #reading: Promise<void> | undefined
  #damage: string | undefined

  private constructor(parts: UsageWatchParts) {
    this.#parts = parts
  }

  /** Compares at once, before anything is recorded, and reads the rows in the background. */
  static async open(parts: UsageWatchParts): Promise<UsageWatch> {
    const watch = new UsageWatch(parts)
    await watch.check()
    const { store } = parts
    // alone, this process may expect what it finds, such as rows from before a crash or an upgrade
    if (!store.isShared) await raiseAnchors(store).catch(error => watch.#warn(error))
    return watch
  }

  /** Compares again: usage may have been lost or accepted. Never rejects. */
  async check(): Promise<void> {
    try {
      const known = new Set(this.#missing.map(({ hourAt }) => hourAt))
      this.#missing = await findMissingUsage(this.#parts.store)
      this.#log(this.#missing.filter(({ hourAt }) => !known.has(hourAt)))
    } catch (error) {
      this.#warn(error)
    }
    this.#reading ??= this.#readRows().finally(() => {
      this.#reading = undefined
    })
  }

  /** One line that says what is missing; undefined while nothing is. */
  trouble(): string | undefined {
    const losses = this.losses()
    return losses.length === 0 ? this.#damage : describeLosses(losses)
  }

  /** Hours whose usage is missing or was changed, each once. */
  losses(): readonly UsageLoss[] {
    return joinLosses(this.#missing, this.#changed)
  }

  /** Resolves once the rows were read that `check` has begun with. */
  async settle(): Promise<void> {
    await this.#reading
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#reading
  }

  async #readRows(): Promise<void> {
    const changed: UsageLoss[] = []
    const known = new Set(this.losses().map(({ hourAt }) => hourAt))
    try {
      for await (const loss of findChangedUsage(this.#parts.store.records, this.#closing.signal))
        changed.push(loss)
      this.#damage = undefined
    } catch (error) {
      this.#damage = `usage cannot be read: ${(error as Error).message}`
      this.#warn(error)
    }
    this.#changed = changed
    this.#log(changed.filter(({ hourAt }) => !known.has(hourAt)))
  }

  #log(losses: readonly UsageLoss[]): void {
    for (const { hourAt, isDay, expected, found } of losses.slice(0, LOGGED))
      this.#parts.logger.error(
        {
          [isDay ? 'day' : 'hour']: new Date(hourAt).toISOString(),
          requests_expected: expected.requests,
          requests_found: found.requests,
          tokens_expected: expected.tokens,
          tokens_found: found.tokens,
        },
        isDay
          ? 'usage of a day is not the sum of its hours'
          : 'usage of an hour is missing or was changed',
      )
    if (losses.length > LOGGED)
      this.#parts.logger.error(
        { hours: losses.length - LOGGED },
        'usage is missing or was changed in more hours',
      )
  }

  #warn(error: unknown): void {
    this.#parts.logger.warn({ err: error }, 'usage could not be compared')
  }
}
