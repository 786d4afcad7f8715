import type { Logger } from 'pino'
import { followEndorsements, type TrustBody } from '../shared/wire/trust.ts'
import type { OwnIdentity } from './own-identity.ts'

/**
 * Takes over a new signing key of the coordinator's, if the pinned one vouches for it. The first key
 * that a cell hears of is pinned: it comes over a connection that proved who the coordinator is.
 * Messages are decided one after another: of two at once, the older key cannot replace the newer.
 */
export const believe = async (
  identity: OwnIdentity,
  trust: TrustBody,
  logger: Pick<Logger, 'info' | 'error'>,
): Promise<void> => {
  const { coordinator_key: before } = identity
  await identity.update(({ coordinator_key: pinned }) => {
    if (pinned === trust.signing_key) return undefined
    const key = pinned === undefined ? trust.signing_key : followEndorsements(pinned, trust)
    if (key === undefined) {
      logger.error(
        { pinned, shown: trust.signing_key },
        'the coordinator signs with a key that its old one does not vouch for; it is not believed',
      )
      return undefined
    }
    return { coordinator_key: key }
  })
  const { coordinator_key: key } = identity
  if (key !== before) logger.info({ key, before }, 'the signing key of the coordinator is known')
}
