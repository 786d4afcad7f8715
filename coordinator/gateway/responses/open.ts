import type { Keys } from '../../access/keys/keys.ts'
import type { Base } from '../../kernel/base/base.ts'
import { followChanges } from '../../kernel/base/follow-changes.ts'
import type { OpenLeader } from '../../kernel/leader/open.ts'
import type { Ledger, Store } from '../../kernel/store/store.ts'
import { deleteEnded, StoredResponses } from './stored-responses.ts'

interface ResponsesDomainParts
  extends Pick<Base, 'stack' | 'logger' | 'now' | 'runtime'>,
    Pick<OpenLeader, 'leaderWork'> {
  store: Pick<Store, 'ledger' | 'revisions'>
  keys: Pick<Keys, 'revocations'>
}

const TIDY_SECONDS = 600

/** Opens the responses that clients asked to keep; those of a revoked key go with it. */
export const openResponses = ({
  store,
  keys,
  leaderWork,
  stack,
  logger,
  now,
  runtime,
}: ResponsesDomainParts): { storedResponses: StoredResponses } => {
  const tidy = (ledger: Ledger): Promise<void> => deleteEnded(ledger, now())
  leaderWork.every('responses.tidy', TIDY_SECONDS, tidy)
  const keyChanges = followChanges({
    subscribe: listener => {
      const stops = [store.revisions.onChange('keys', listener), keys.revocations.add(listener)]
      return () => stops.map(stop => stop())
    },
    read: () => leaderWork.runOnce(tidy),
    onFailure: error => logger.warn({ err: error }, 'responses of ended keys were not deleted'),
    runtime,
  })
  stack.defer(() => keyChanges.close())
  return { storedResponses: new StoredResponses({ ledger: store.ledger, now }) }
}
