import { spawn } from 'node:child_process'
import { once } from 'node:events'

/** Exit status of `flock --nonblock` for a lock that another process holds (flock(1)). */
const IS_HELD = 1

/**
 * Locks a file or folder by its open descriptor, until that is closed or the process ends. Unlike a
 * lock file, the lock cannot be deleted, and other containers with the same folder see it. Node.js
 * cannot call flock(2), but the lock belongs to the open file, so that flock(1) can take it on our
 * behalf. Returns false when another process holds it. Without the program, or on a file system
 * without such locks, nothing is locked and the result is true.
 */
export const tryFlock = async (descriptor: number): Promise<boolean> => {
  const child = spawn('flock', ['-n', '3'], { stdio: ['ignore', 'ignore', 'ignore', descriptor] })
  try {
    const [status] = await once(child, 'exit')
    return status !== IS_HELD
  } catch {
    return true
  }
}
