import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Test } from 'tap'
import { openMarks } from '../../../../coordinator/calls/idempotency/open.ts'
import type { StorePlace } from '../../../../coordinator/kernel/store/place.ts'
import {
  openStore,
  type Store,
  type StoreHooks,
  type StoreOptions,
} from '../../../../coordinator/kernel/store/store.ts'
import {
  createStoreMetrics,
  type StoreMetrics,
} from '../../../../coordinator/surfaces/metrics/store-metrics.ts'
import { placeEmptyStore } from '../../../support/empty-store.ts'
import { MEMORY_FOLDER } from '../../../support/memory-folder.ts'
import { databaseFor } from '../../../support/postgres.ts'
import { rehearseFreeWork } from '../../../support/rehearsing.ts'

type Teardown = Pick<Test, 'teardown'>

/** A folder that is gone after the test. */
export const temporaryFolder = async (t: Teardown): Promise<string> => {
  const folder = await mkdtemp(join(MEMORY_FOLDER, 'shoal-store-'))
  t.teardown(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }))
  return folder
}

interface TestStoreOptions extends StoreOptions {
  metrics?: StoreMetrics
}

/** Reason to skip a test of SQLite's files; false where the stores of the tests are files. */
export const notInFiles: string | false =
  process.env.SHOAL_TEST_STORE === 'postgres' ? 'the stores are in PostgreSQL' : false

/**
 * Place of a folder's store. With SHOAL_TEST_STORE=postgres each folder stands for a database of
 * its own.
 */
const placeFor = (folder: string): Promise<StorePlace> | string =>
  notInFiles ? databaseFor(folder) : folder

/** The store of a coordinator, which looks for changes only on demand and rehearses free works. */
export const testStore = async (
  folder: string,
  { hooks = REHEARSED, metrics = createStoreMetrics(), ...options }: TestStoreOptions = {},
): Promise<Store> => {
  const measured = metrics.hooks
  placeEmptyStore(folder)
  return openStore(await placeFor(folder), {
    pollMilliseconds: 0,
    ...options,
    hooks: {
      ledger: [...measured.ledger, ...openMarks().changeHooks, ...(hooks.ledger ?? [])],
      records: [...measured.records, ...(hooks.records ?? [])],
    },
  })
}

const REHEARSED: StoreHooks = {
  ledger: [rehearseFreeWork()],
  records: [rehearseFreeWork()],
}

/** A store that is closed after the test, in a new folder or in the one that is given. */
export const temporaryStore = async (
  t: Teardown,
  folder?: string,
  options: TestStoreOptions = {},
): Promise<Store> => {
  const place = folder ?? (await temporaryFolder(t))
  const store = await testStore(place, options)
  t.teardown(() => store.close())
  return store
}

export const BY = { actor: 'test' }
