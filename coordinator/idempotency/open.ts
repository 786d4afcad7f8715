import type { Base } from '../base/base.ts'
import type { Sealing } from '../signing/sealing.ts'
import type { Store } from '../store/store.ts'
import { markingChanges } from './call-marks.ts'
import { createIdempotency, type Idempotency } from './idempotency.ts'

export interface IdempotencyDomainParts extends Pick<Base, 'logger' | 'now'> {
  store: Pick<Store, 'ledger'>
  sealing: Sealing
}

export const openIdempotency = ({
  store,
  sealing,
  logger,
  now,
}: IdempotencyDomainParts): { idempotency: Idempotency } => ({
  idempotency: createIdempotency({ ledger: store.ledger, sealing, logger, now }),
})

/** The same store for all parts after it, which notes what a repeatable call has changed. */
export const openMarks = ({ store }: { store: Store }): { store: Store } => ({
  store: markingChanges(store),
})
