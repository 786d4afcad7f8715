import { existsSync } from 'node:fs'
import { rm, rmdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { signingKeyFile } from '../identity.ts'

interface Footprint {
  /**
   * Marks the folder as locked. The owner calls it once it is: a key found then belongs to another
   * cell.
   */
  markLocked(): void
  /** `unlock` lets others in: from then on a key may be theirs. */
  takeBack(unlock: () => void): Promise<void>
}

/**
 * Undoes what was created in a state folder: a signing key created since it was locked, and the
 * folders created since this call, if they are empty again. Existing files stay.
 */
export const footprint = (stateDir: string): Footprint => {
  const key = signingKeyFile(stateDir)
  const top = findFirstMissing(stateDir)
  let hadKey = true
  return {
    markLocked: () => {
      hadKey = existsSync(key)
    },
    takeBack: async unlock => {
      if (!hadKey) await rm(key, { force: true })
      unlock()
      if (top !== undefined) await removeEmpty(stateDir, top)
    },
  }
}

const findFirstMissing = (path: string): string | undefined =>
  existsSync(path) ? undefined : (findFirstMissing(dirname(path)) ?? path)

const removeEmpty = async (folder: string, top: string): Promise<void> => {
  try {
    await rmdir(folder)
  } catch {
    // The folder is in use by now
    return
  }
  if (folder !== top) await removeEmpty(dirname(folder), top)
}
