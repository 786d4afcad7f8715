import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { link, mkdir, open, rename, rm } from 'node:fs/promises'
import { connect, createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { ShoalError } from './errors.ts'

const NAME = 'lock'

/**
 * Ensures that only one process uses a state folder: two daemons would share an identity, two
 * coordinators would lose each other's unsaved state. The lock is a socket in the folder; however
 * the process ends, nothing answers on it afterwards. It is held until the signal aborts. Throws
 * `conflict` when another process holds it.
 */
export const lockState = async (stateDir: string, signal: AbortSignal): Promise<void> => {
  const server = await take(stateDir).catch(cause => {
    throw new ShoalError('store_unavailable', `cannot lock ${stateDir}: ${cause.message}`, {
      cause,
    })
  })
  if (server === undefined)
    throw new ShoalError('conflict', `another process already uses ${stateDir}`)
  server.unref()
  const release = (): void => {
    rmSync(join(stateDir, NAME), { force: true })
    server.close()
  }
  if (signal.aborted) release()
  signal.addEventListener('abort', release, { once: true })
}

/** Undefined when another process holds the lock. */
const take = async (stateDir: string): Promise<Server | undefined> => {
  await mkdir(stateDir, { recursive: true, mode: 0o700 })
  const folder = await open(stateDir)
  // the name of a socket has at most 107 bytes (unix(7)), and folder paths may be longer
  const pathOf = (name: string): string => `/proc/self/fd/${folder.fd}/${name}`
  const own = pathOf(`${NAME}.${randomUUID()}`)
  const server = createServer(socket => socket.destroy())
  try {
    server.listen({ path: own, readableAll: true, writableAll: true })
    await once(server, 'listening')
    if (await place(own, pathOf(NAME))) return server
    server.close()
    return undefined
  } finally {
    await rm(own, { force: true })
    await folder.close()
  }
}

/** Gives our socket the name of the lock, unless a process answers on it. */
const place = async (own: string, lock: string): Promise<boolean> => {
  if (await tryLink(own, lock)) return true
  if (await isListening(lock)) return false
  const aside = `${own}.old`
  await rename(lock, aside).catch(ignoreMissing)
  // another process may have replaced the dead lock in the meantime
  const alive = await isListening(aside)
  if (alive) await tryLink(aside, lock)
  await rm(aside, { force: true })
  return !alive && tryLink(own, lock)
}

const tryLink = (from: string, to: string): Promise<boolean> =>
  link(from, to).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'EEXIST') return false
      throw error
    },
  )

const ignoreMissing = (error: NodeJS.ErrnoException): void => {
  if (error.code !== 'ENOENT') throw error
}

/** True when a process listens on the socket. */
const isListening = async (path: string): Promise<boolean> => {
  const socket = connect(path)
  try {
    await once(socket, 'connect')
    return true
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return code !== 'ECONNREFUSED' && code !== 'ENOENT'
  } finally {
    socket.destroy()
  }
}
