import { mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import * as z from 'zod'
import {
  DEMO_NAMES,
  DEMO_TENANT,
  type DemoKeys,
  type DemoName,
  demoKeys,
} from '../../coordinator/access/keys/bootstrap.ts'
import { createToken } from '../../coordinator/fleet/enrolment/join-tokens.ts'
import { loadExample } from '../../coordinator/insight/registers/example.ts'
import { faultOf } from '../../coordinator/kernel/store/faults.ts'
import type { StorePlace } from '../../coordinator/kernel/store/place.ts'
import { openStore, type Store } from '../../coordinator/kernel/store/store.ts'
import { readIdentity } from '../../daemon/identity.ts'
import { ShoalError } from '../../shared/errors.ts'
import { readPrivate, replacePrivate } from '../../shared/private-file.ts'
import { lockState } from '../../shared/state-lock.ts'
import { EXIT, LaunchError } from './launch-error.ts'

/** Everything that stays between two starts, in one folder. */
export interface LaunchState {
  folder: string
  /** Place of the store. */
  place: StorePlace
  keys: DemoKeys
  /** Keys that had to be made; all of them at the first start. */
  issued: DemoName[]
  firstStart: boolean
}

export const keysFileOf = (folder: string): string => join(folder, 'demo-keys.json')
/** Folder of a coordinator, counted from 1; the first one is also used without replicas. */
export const coordinatorFolder = (folder: string, replica: number): string =>
  join(folder, replica === 1 ? 'coordinator' : `coordinator-${replica}`)
export const cellFolder = (folder: string, cell: number): string => join(folder, `cell-${cell}`)
export const logFolder = (folder: string): string => join(folder, 'logs')

/** Creates the folder and locks it for this launcher until the signal aborts. */
export const lockFolder = async (folder: string, signal: AbortSignal): Promise<void> => {
  makeFolder(logFolder(folder))
  await takeFolder(folder, signal)
}

/** Creates the keys that are missing. Throws LaunchError for faults that need an operator. */
export const openState = async (
  folder: string,
  cells: number,
  place: StorePlace,
): Promise<LaunchState> => {
  const known = await readKeys(keysFileOf(folder))
  return withStore(place, async store => {
    for (let cell = 1; cell <= cells; cell++) await checkCell(store, cellFolder(folder, cell))
    const before = await store.ledger.read.selectFrom('keys').select('id').limit(1).execute()
    const { keys, issued } = await demoKeys(store, known)
    if (issued.length > 0)
      await replacePrivate(keysFileOf(folder), `${JSON.stringify(keys, null, 2)}\n`)
    const firstStart = before.length === 0
    if (firstStart) await loadExample(store, EXAMPLE_FOLDER, { tenantId: DEMO_TENANT, by: BY })
    return { folder, place, keys, issued, firstStart }
  })
}

const EXAMPLE_FOLDER = resolve(import.meta.dirname, '..', '..', 'examples', 'organisation')
const BY = { actor: 'bootstrap' }

const makeFolder = (path: string): void => {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 })
  } catch (cause) {
    const { message } = cause as Error
    throw new LaunchError(EXIT.cannotCreate, `cannot make the folder ${path}: ${message}`, cause)
  }
}

const takeFolder = async (folder: string, signal: AbortSignal): Promise<void> => {
  try {
    await lockState(folder, signal)
  } catch (cause) {
    if (!(cause instanceof ShoalError) || cause.code !== 'conflict') throw cause
    throw new LaunchError(EXIT.data, `${folder} is used by another npm start`, cause)
  }
}

const Known = z.partialRecord(z.enum(DEMO_NAMES), z.string())

const readKeys = async (path: string): Promise<Partial<DemoKeys>> => {
  const text = await readPrivate(path)
  if (text === undefined) return {}
  try {
    return Known.parse(JSON.parse(text))
  } catch (cause) {
    throw new LaunchError(EXIT.data, `${path} is damaged; remove it to get new keys`, cause)
  }
}

const withStore = async <R>(place: StorePlace, use: (store: Store) => Promise<R>): Promise<R> => {
  try {
    const store = await openStore(place, { pollMilliseconds: 0 })
    return await use(store).finally(() => store.close())
  } catch (cause) {
    if (faultOf(cause) !== 'damaged') throw cause
    const { message } = (cause as Error).cause as Error
    const where = typeof place === 'string' ? place : 'PostgreSQL'
    throw new LaunchError(EXIT.data, `a database in ${where} is damaged (${message})`, cause)
  }
}

/** A cell of another coordinator would be refused for ever. */
const checkCell = async ({ ledger }: Store, folder: string): Promise<void> => {
  const identity = await readIdentity(folder)
  if (identity === undefined) return
  const query = ledger.read.selectFrom('cells').select('id').where('id', '=', identity.cell_id)
  if ((await query.where('revoked_at', 'is', null).executeTakeFirst()) !== undefined) return
  const message = `the cell in ${folder} is revoked or belongs to another coordinator; remove the folder`
  throw new LaunchError(EXIT.data, message)
}

const TOKEN_TTL_MINUTES = 10

/** A fresh join token for a cell that has no identity yet. */
export const joinToken = async (
  { folder, place }: Pick<LaunchState, 'folder' | 'place'>,
  cell: number,
): Promise<string | undefined> => {
  if ((await readIdentity(cellFolder(folder, cell))) !== undefined) return undefined
  return issueToken({ place }, { uses: 1, ttlMinutes: TOKEN_TTL_MINUTES })
}

export const issueToken = (
  { place }: Pick<LaunchState, 'place'>,
  token: { uses: number; ttlMinutes: number },
): Promise<string> =>
  withStore(place, async ({ ledger }) => (await createToken(ledger, token, BY)).secret)
