import type { Base } from '../../kernel/base/base.ts'
import type { OpenLeader } from '../../kernel/leader/open.ts'
import type { Store } from '../../kernel/store/store.ts'
import { deleteExpired, StoredResponses } from './stored-responses.ts'

interface ResponsesDomainParts extends Pick<Base, 'now'>, Pick<OpenLeader, 'leaderWork'> {
  store: Pick<Store, 'ledger'>
}

const TIDY_SECONDS = 600

/** Opens the responses that clients asked to keep. */
export const openResponses = ({
  store,
  leaderWork,
  now,
}: ResponsesDomainParts): { storedResponses: StoredResponses } => {
  leaderWork.every('responses.tidy', TIDY_SECONDS, ledger => deleteExpired(ledger, now()))
  return { storedResponses: new StoredResponses({ ledger: store.ledger, now }) }
}
