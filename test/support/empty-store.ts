import { copyFileSync, existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { openStore } from '../../coordinator/kernel/store/store.ts'
import { FOLDER_OF_RUN } from './memory-folder.ts'
import { administer, EMPTY_STORE } from './postgres.ts'

/* An empty store of this version, made once: every migration takes as long as most tests do. */

const FILES = ['ledger.db', 'records.db']

/** The folder of a run, when the test is run by `npm test`. */
const findTemplate = (): string | undefined => {
  const folder = process.env[FOLDER_OF_RUN]
  return folder === undefined ? undefined : join(folder, EMPTY_STORE)
}

/** Makes what `placeEmptyStore` copies; `socket` is the folder of the cluster, when there is one. */
export const makeEmptyStores = async (socket: string | undefined): Promise<void> => {
  await (await openStore(findTemplate() ?? '')).close()
  if (socket === undefined) return
  await administer(socket, `create database ${EMPTY_STORE}`)
  await (await openStore({ host: socket, user: 'postgres', database: EMPTY_STORE })).close()
}

/**
 * Puts an empty store into a folder that has none. Outside of `npm test`, opening the folder makes it.
 * It is done in one turn of the event loop: several coordinators may open one folder at once, and a
 * copy over an open store damages it.
 */
export const placeEmptyStore = (folder: string): void => {
  const template = findTemplate()
  if (template === undefined || FILES.some(file => existsSync(join(folder, file)))) return
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  for (const file of FILES) copyFileSync(join(template, file), join(folder, file))
}
