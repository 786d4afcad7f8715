import { markChange } from '../idempotency/call-marks.ts'
import { createStoreFigures, type StoreFigures } from '../metrics/store-figures.ts'
import { openStore, type Store, type StoreOptions } from '../store/store.ts'

export interface CoordinatorStoreOptions extends StoreOptions {
  figures?: StoreFigures
}

/**
 * Opens the store with what the coordinator lets run around every change: times are measured, and
 * calls that may be repeated are marked. Tests open it here too, so that they run on what serves.
 */
export const openCoordinatorStore = (
  folder: string,
  { figures = createStoreFigures(), hooks = {}, ...options }: CoordinatorStoreOptions = {},
): Promise<Store> =>
  openStore(folder, {
    ...options,
    hooks: {
      ledger: [...figures.hooks.ledger, markChange, ...(hooks.ledger ?? [])],
      records: [...figures.hooks.records, ...(hooks.records ?? [])],
    },
  })
