import type { Base } from '../base/base.ts'
import type { Sealing } from '../signing/sealing.ts'
import type { StoreParts } from '../store/open.ts'
import type { Store } from '../store/store.ts'
import { markChange } from './call-marks.ts'
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

/** What the store does around every change: it notes what a repeatable call has changed. */
export const openMarks = (): { changeHooks: StoreParts['changeHooks'] } => ({
  changeHooks: [markChange],
})
