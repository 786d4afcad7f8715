import { randomUUID } from 'node:crypto'
import { link, mkdir, open, readFile, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { ShoalError } from './errors.ts'

/* Files that only their owner may read (0600), in folders that only their owner may enter. */

/** The text of a file, or undefined when there is none. Throws `store_unavailable`. */
export const readPrivate = async (path: string): Promise<string | undefined> => {
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw unusable('read', path, cause)
  }
}

/** Replaces the file in one step; it is on the disk when this resolves. */
export const replacePrivate = (path: string, text: string): Promise<void> =>
  write(path, text, async temporary => rename(temporary, path))

/**
 * Makes the file whole or not at all. Answers false, and changes nothing, when somebody else has
 * made it before.
 */
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
    throw unusable('write', path, cause)
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

/** A new name survives a loss of power only when its folder is on the disk too (fsync(2)). */
const syncFolder = async (path: string): Promise<void> => {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

const unusable = (verb: string, path: string, cause: unknown): ShoalError =>
  new ShoalError('store_unavailable', `cannot ${verb} ${path}: ${(cause as Error).message}`, {
    cause,
  })
