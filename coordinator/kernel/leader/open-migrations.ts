import type { Base } from '../base/base.ts'
import type { Store } from '../store/store.ts'
import type { OpenLeader } from './open.ts'

interface MigrationParts extends Pick<Base, 'logger'> {
  store: Pick<Store, 'ledger' | 'records'>
  leaderWork: Pick<OpenLeader['leaderWork'], 'every'>
}

const EVERY_SECONDS = 60

/**
 * Contracting migrations that wait for older coordinators to stop; the leader tries them again. This
 * process is registered by now: a newer one that migrated before has not counted it, and a schema
 * that this version cannot use is refused here with `config_invalid`.
 */
export const openMigrations = async (parts: MigrationParts): Promise<object> => {
  const { store, leaderWork, logger } = parts
  let logged = ''
  const finish = async (): Promise<void> => {
    const ledger = await store.ledger.finishMigrations()
    const waiting = [...ledger, ...(await store.records.finishMigrations())]
    if (waiting.join() === logged) return
    logged = waiting.join()
    if (waiting.length === 0) logger.info('every migration of the store is done')
    else logger.warn({ waiting }, 'migrations wait until older coordinators have stopped')
  }
  await finish()
  leaderWork.every('store.migrations', EVERY_SECONDS, finish)
  return {}
}
