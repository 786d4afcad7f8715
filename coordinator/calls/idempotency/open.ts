import type { Base } from '../../kernel/base/base.ts'
import type { Replicas } from '../../kernel/replicas/replicas.ts'
import type { SecretSealer } from '../../kernel/signing/sealing.ts'
import type { StoreParts } from '../../kernel/store/open.ts'
import type { Store } from '../../kernel/store/store.ts'
import { markChange } from './call-marks.ts'
import { Idempotency } from './idempotency.ts'

interface IdempotencyDomainParts extends Pick<Base, 'logger' | 'now' | 'runtime'> {
  store: Pick<Store, 'ledger'>
  replicas: Pick<Replicas, 'id'>
  sealing: SecretSealer
}

export const openIdempotency = ({
  store,
  replicas,
  sealing,
  logger,
  now,
  runtime,
}: IdempotencyDomainParts): { idempotency: Idempotency } => ({
  idempotency: new Idempotency({ ledger: store.ledger, replicas, sealing, logger, now, runtime }),
})

/** The hook by which the store notes the changes of a repeatable call. */
export const openMarks = (): { changeHooks: StoreParts['changeHooks'] } => ({
  changeHooks: [markChange],
})
