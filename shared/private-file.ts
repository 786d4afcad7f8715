import { randomUUID } from 'node:crypto'
import { link, mkdir, open, readFile, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { ShoalError } from './errors.ts'

/* Files that only their owner may read (0600), in folders that only their owner may enter. */

/** Reads a file; undefined when it does not exist. Throws `store_unavailable`. */
export const readPrivate = async (path: string): Promise<string | undefined> => {
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw createFileError('read', path, cause)
  }
}

/**
 * Replaces the file in one step; it is on disk when this resolves. A file that is a mount point, such
 * as one that a container gets from its host, has no other name: it is overwritten, while its new
 * text is also in a file beside it.
 */
export const replacePrivate = (path: string, text: string): Promise<void> =>
  write(path, text, async temporary => {
    await rename(temporary, path).catch((cause: NodeJS.ErrnoException) => {
      if (cause.code !== 'EBUSY') throw cause
      return overwriteDurably(path, text)
    })
  })

/** Creates the file atomically. Returns false, and changes nothing, when it already exists. */
export const createPrivate = async (path: string, text: string): Promise<boolean> => {
  let made = true
  await write(path, text, async temporary => {
    await link(temporary, path).catch((cause: NodeJS.ErrnoException) => {
      if (cause.code !== 'EEXIST') throw cause
      made = false
    })
  })
  return made
}

const write = async (
  path: string,
  text: string,
  place: (temporary: string) => Promise<void>,
): Promise<void> => {
  const temporary = `${path}.${randomUUID()}.new`
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    await writeDurably(temporary, text)
    await place(temporary)
    await syncFolder(dirname(path))
  } catch (cause) {
    throw createFileError('write', path, cause)
  } finally {
    await rm(temporary, { force: true }).catch(() => {})
  }
}

const writeDurably = async (path: string, text: string): Promise<void> => {
  const file = await open(path, 'wx', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
}

const overwriteDurably = async (path: string, text: string): Promise<void> => {
  const file = await open(path, 'r+')
  try {
    await file.writeFile(text)
    await file.truncate(Buffer.byteLength(text))
    await file.sync()
  } finally {
    await file.close()
  }
}

/** A new name survives a power loss only when its folder is synced too (fsync(2)). */
const syncFolder = async (path: string): Promise<void> => {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

const createFileError = (verb: string, path: string, cause: unknown): ShoalError =>
  new ShoalError('store_unavailable', `cannot ${verb} ${path}: ${(cause as Error).message}`, {
    cause,
  })
