import { statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'

const SHARED_MEMORY = '/dev/shm'
const NEEDED_BYTES = 2 ** 30

const hasRoom = (folder: string): boolean => {
  try {
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
export const MEMORY_FOLDER = hasRoom(SHARED_MEMORY) ? SHARED_MEMORY : tmpdir()
