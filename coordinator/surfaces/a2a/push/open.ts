import type { Keys } from '../../../access/keys/keys.ts'
import { isTenantDisabled } from '../../../access/people/tenants.ts'
import type { ReaderOf } from '../../../calls/tasks/task-readers.ts'
import type { Base } from '../../../kernel/base/base.ts'
import type { Sender } from '../../../kernel/outbound/sender.ts'
import type { OpenQueue } from '../../../kernel/queue/open.ts'
import type { SecretSealer } from '../../../kernel/signing/sealing.ts'
import type { Store } from '../../../kernel/store/store.ts'
import { a2aPush, type PushParts } from './a2a-push.ts'
import { hookAccess } from './hook-access.ts'
import { createPushConfigs, type PushConfigs } from './push-configs.ts'

interface PushDomainParts extends Pick<Base, 'now'> {
  config: { webhooks: PushParts['config'] }
  store: Pick<Store, 'ledger'>
  keys: Pick<Keys, 'asNow'>
  readerOf: ReaderOf
  sealing: SecretSealer
  sender: Sender
  work: Pick<OpenQueue, 'addKind'>
}

/** Notifications of what happens to tasks, sent as jobs of the queue. */
export const openPush = (parts: PushDomainParts): { push: PushConfigs } => {
  const { config, store, keys, readerOf, sealing, sender, work, now } = parts
  const { ledger } = store
  const push = createPushConfigs({ ledger, sealing, sender })
  work.addKind(
    a2aPush({
      config: config.webhooks,
      configs: push,
      sender,
      isSeen: hookAccess({ ledger, keys, readerOf }),
      isShut: tenantId => isTenantDisabled(ledger.read, tenantId),
      now,
    }),
  )
  return { push }
}
