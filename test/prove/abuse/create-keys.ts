import { bootstrap } from '../../../coordinator/access/keys/bootstrap.ts'
import { Keys } from '../../../coordinator/access/keys/keys.ts'
import { openStore } from '../../../coordinator/kernel/store/store.ts'
import { silent } from '../../support/cell.ts'

/** Two keys of the highest tier: quotas decide nothing here. */
export const createKeys = async (
  stateDir: string,
): Promise<{ honest: string; attacker: string }> => {
  const store = await openStore(stateDir)
  const { keys: demo } = await bootstrap(store)
  const keys = new Keys({ store, logger: silent })
  const { tenantId = '', personId = '' } = (await keys.authenticate(demo.enterprise)) ?? {}
  const spec = { tenantId, personId }
  const { secret } = await keys.create({ ...spec, tier: 'enterprise' }, { actor: 'prove' })
  keys.close()
  await store.close()
  return { honest: demo.enterprise, attacker: secret }
}
