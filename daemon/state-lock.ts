import { once } from 'node:events'
import { mkdir, stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { ShoalError } from '../shared/errors.ts'

/**
 * Makes sure that one daemon at a time uses a state folder; two would share an identity. The lock
 * is a name in Linux's abstract socket namespace (unix(7)), which the kernel frees however the
 * process ends. It is held until the signal aborts.
 */
export const lockState = async (stateDir: string, signal: AbortSignal): Promise<void> => {
  await mkdir(stateDir, { recursive: true, mode: 0o700 }).catch(cause => {
    throw new ShoalError('store_unavailable', `cannot make ${stateDir}: ${cause.message}`, {
      cause,
    })
  })
  const { dev, ino } = await stat(stateDir)
  const server = createServer(socket => socket.destroy())
  server.listen(`\0shoald-${dev}-${ino}`)
  await once(server, 'listening').catch((cause: NodeJS.ErrnoException) => {
    if (cause.code !== 'EADDRINUSE') throw cause
    throw new ShoalError('conflict', `another daemon already uses ${stateDir}`, { cause })
  })
  server.unref()
  signal.addEventListener('abort', () => server.close(), { once: true })
}
