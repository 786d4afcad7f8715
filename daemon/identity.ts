import { mkdir, open, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import * as z from 'zod'
import { ShoalError } from '../shared/errors.ts'
import { CELL_ID } from '../shared/ids.ts'

/** Who this cell is. Kept in `identity.json`; whoever has the credential is this cell. */
export const Identity = z.looseObject({
  cell_id: z.string().regex(CELL_ID),
  credential: z.string().min(1),
  /** The coordinator that gave the identity. */
  coordinator_url: z.string().min(1),
  /** Grows with every start, so that a late message of an earlier life is known as such. */
  epoch: z.int().nonnegative(),
})
export type Identity = z.infer<typeof Identity>

const fileOf = (stateDir: string): string => join(stateDir, 'identity.json')

/**
 * The stored identity, or undefined when there is none yet. A file that cannot be understood is an
 * error and never a new identity: the fleet would see a second cell.
 */
export const readIdentity = async (stateDir: string): Promise<Identity | undefined> => {
  const path = fileOf(stateDir)
  const text = await readFile(path, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === 'ENOENT') return undefined
    throw new ShoalError('store_unavailable', `cannot read ${path}: ${cause.message}`, { cause })
  })
  return text === undefined ? undefined : understand(text, path)
}

const understand = (text: string, path: string): Identity => {
  try {
    return Identity.parse(JSON.parse(text))
  } catch (cause) {
    const message = `${path} is damaged; restore it, or remove it and enrol this cell again`
    throw new ShoalError('store_unavailable', message, { cause })
  }
}

/** Replaces the file in one step; it is on the disk when this resolves. */
export const writeIdentity = async (stateDir: string, identity: Identity): Promise<void> => {
  try {
    await mkdir(stateDir, { recursive: true, mode: 0o700 })
    await replaceFile(stateDir, `${JSON.stringify(identity, null, 2)}\n`)
  } catch (cause) {
    const message = `cannot write ${fileOf(stateDir)}: ${(cause as Error).message}`
    throw new ShoalError('store_unavailable', message, { cause })
  }
}

const replaceFile = async (stateDir: string, text: string): Promise<void> => {
  const temporary = `${fileOf(stateDir)}.new`
  await rm(temporary, { force: true })
  const file = await open(temporary, 'wx', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(temporary, fileOf(stateDir))
  const folder = await open(stateDir, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** Begins a new life: the epoch is one higher, and on the disk, before anybody hears of it. */
export const beginEpoch = async (stateDir: string, identity: Identity): Promise<Identity> => {
  const next = { ...identity, epoch: identity.epoch + 1 }
  await writeIdentity(stateDir, next)
  return next
}
