import type { Base } from '../base/base.ts'
import { followChanges } from '../base/follow-changes.ts'
import type { Replicas } from '../replicas/replicas.ts'
import type { Store } from '../store/store.ts'
import type { KeyRing } from './key-ring.ts'
import { openKeyRing, openSecrets } from './open-secrets.ts'
import { publishKeys, unpublishKeys } from './replica-keys.ts'
import type { SharedSecrets } from './shared-secrets.ts'

interface SecretsPartParts extends Pick<Base, 'stack' | 'schedules' | 'logger' | 'runtime'> {
  config: { state_dir: string }
  store: Pick<Store, 'ledger' | 'revisions' | 'isShared'>
  replicas: Pick<Replicas, 'id' | 'onChange'>
}

const REREAD_SECONDS = 2

/**
 * Refuses a coordinator without the key of its store, before it is registered: the others would
 * tell their cells of it, and do its work again.
 */
export const openKeyCheck = async ({
  config: { state_dir: stateDir },
  store,
}: Pick<SecretsPartParts, 'config' | 'store'>): Promise<object> => {
  await openKeyRing({ store, stateDir })
  return {}
}

/** Secrets that the coordinators of a store share; changes by others are read within a second. */
export const openSecretsPart = async (
  parts: SecretsPartParts,
): Promise<{ secrets: SharedSecrets }> => {
  const { config, store, stack, logger, runtime } = parts
  const { secrets, ring } = await openSecrets({ store, stateDir: config.state_dir, logger })
  const changes = followChanges({
    subscribe: listener => store.revisions.onChange('secrets', listener),
    read: () => secrets.refresh(),
    onFailure: error => logger.warn({ err: error }, 'the shared secrets could not be read again'),
    runtime,
  })
  stack.defer(changes.close)
  await announceKeys(parts, ring)
  return { secrets }
}

/** Tells the other coordinators which keys this one has, also after the file has changed. */
const announceKeys = async (
  { store: { ledger }, replicas, stack, schedules, logger, runtime }: SecretsPartParts,
  ring: KeyRing,
): Promise<void> => {
  const publish = () => publishKeys(ledger, replicas.id, ring.ids)
  await publish()
  // one that was away for long may have been forgotten
  const changes = followChanges({
    subscribe: listener => replicas.onChange(listener),
    read: publish,
    onFailure: error => logger.warn({ err: error }, 'the sealing keys are not announced'),
    runtime,
  })
  stack.defer(() =>
    unpublishKeys(ledger, replicas.id).catch(error =>
      logger.warn({ err: error }, 'the ids of the sealing keys were not withdrawn'),
    ),
  )
  stack.defer(changes.close)
  schedules.every('secrets.keys', REREAD_SECONDS, async () => {
    if (await ring.reread()) await publish()
  })
}
