import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { openStore, type Store, type StoreOptions } from '../../../coordinator/store/store.ts'

type Teardown = Pick<Test, 'teardown'>

/** A folder that is gone after the test. */
export const temporaryFolder = async (t: Teardown): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'shoal-store-'))
  t.teardown(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }))
  return folder
}

/** A store that looks for changes only when told, in a new folder or in the one that is given. */
export const temporaryStore = async (
  t: Teardown,
  folder?: string,
  options: StoreOptions = {},
): Promise<Store> => {
  const place = folder ?? (await temporaryFolder(t))
  const store = await openStore(place, { pollMilliseconds: 0, ...options })
  t.teardown(() => store.close())
  return store
}

export const BY = { actor: 'test' }
