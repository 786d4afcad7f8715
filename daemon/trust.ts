import type { Logger } from 'pino'
import { followEndorsements, type TrustBody } from '../shared/wire/trust.ts'
import type { OwnIdentity } from './own-identity.ts'

/**
 * Takes over a new signing key of the coordinator's, if the pinned one vouches for it. The first key
 * that a cell hears of is pinned: it comes over a connection that proved who the coordinator is.
 * Messages are decided one after another: of two at once, the older key cannot replace the newer.
 * Resolves with false for a key that the pinned one does not vouch for.
 */
export const believe = async (
  identity: OwnIdentity,
  trust: TrustBody,
  logger: Pick<Logger, 'info'>,
): Promise<boolean> => {
  const { coordinator_key: before } = identity
  let isBelieved = true
  await identity.update(({ coordinator_key: pinned }) => {
    if (pinned === trust.signing_key) return undefined
    const key = pinned === undefined ? trust.signing_key : followEndorsements(pinned, trust)
    if (key === undefined) {
      isBelieved = false
      logger.info(
        { pinned: abbreviateKey(pinned), shown: abbreviateKey(trust.signing_key) },
        'a coordinator shows a signing key that the known one does not vouch for',
      )
      return undefined
    }
    return { coordinator_key: key }
  })
  const { coordinator_key: key } = identity
  if (key !== before)
    logger.info(
      { key: abbreviateKey(key), before: abbreviateKey(before) },
      'the signing key of the coordinator is known',
    )
  return isBelieved
}

/** Beginning of a public key: the log hides whole ones, because they look like secrets. */
const abbreviateKey = (key: string | undefined): string | undefined => key && `${key.slice(0, 16)}…`

/** Time that coordinators have to agree after a rotation of the key. */
const AGREE_MS = 5000

/** Reports coordinators whose key is still not believed when a rotation would be over. */
export class KeyDoubts {
  readonly #logger: Pick<Logger, 'info' | 'error'>
  readonly #afterMs: number
  readonly #timers = new Map<string, NodeJS.Timeout>()

  constructor(logger: Pick<Logger, 'info' | 'error'>, afterMs = AGREE_MS) {
    this.#logger = logger
    this.#afterMs = afterMs
  }

  note(replica: string, isBelieved: boolean): void {
    if (!isBelieved) {
      if (!this.#timers.has(replica)) this.#timers.set(replica, this.#reportLater(replica))
    } else if (this.forget(replica))
      this.#logger.info({ replica }, 'the signing key of the coordinator is trusted again')
  }

  /** False for a coordinator that was not in doubt. */
  forget(replica: string): boolean {
    clearTimeout(this.#timers.get(replica))
    return this.#timers.delete(replica)
  }

  close(): void {
    for (const replica of this.#timers.keys()) this.forget(replica)
  }

  #reportLater(replica: string): NodeJS.Timeout {
    const report = () =>
      this.#logger.error(
        { replica },
        'the coordinator signs with a key that its old one does not vouch for; it is not trusted',
      )
    return setTimeout(report, this.#afterMs).unref()
  }
}
