import { accessSync, constants, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'

const SHARED_MEMORY = '/dev/shm'
const NEEDED_BYTES = 2 ** 30

/** Environment variable in which `npm test` names the folder that it removes at its end. */
export const FOLDER_OF_RUN = 'TEST_MEMORY_FOLDER'

const isUsable = (folder: string): boolean => {
  try {
    accessSync(folder, constants.W_OK)
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize >= NEEDED_BYTES
  } catch {
    return false
  }
}

/**
 * Parent of the temporary folders of stores: in memory where there is room, because a store waits
 * for the disk at each commit. Programs may not be executable there.
 */
export const MEMORY_FOLDER =
  process.env[FOLDER_OF_RUN] ?? (isUsable(SHARED_MEMORY) ? SHARED_MEMORY : tmpdir())
