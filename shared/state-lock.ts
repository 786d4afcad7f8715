import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { closeSync, openSync, rmSync, statSync } from 'node:fs'
import { link, mkdir, rename, rm } from 'node:fs/promises'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { ShoalError } from './errors.ts'
import { tryFlock } from './folder-flock.ts'

const NAME = 'lock'

interface StateLockOptions {
  /** Runs when the lock file is gone, and when another process has taken its place. */
  onLost?: (message: string) => void
  /** Interval of the look at the lock file, milliseconds. */
  everyMs?: number
}

const LOOK_EVERY_MS = 5000
const ASK_MS = 1000

/**
 * Ensures that only one process uses a state folder: two daemons would share an identity, two
 * coordinators would lose each other's unsaved state. The folder itself is locked, and a socket in
 * it is the lock where folders cannot be; however the process ends, nothing answers on it
 * afterwards. Both are held until the signal aborts. A socket that was deleted is created again. Throws
 * `conflict` when another process holds one of them.
 */
export const lockState = async (
  stateDir: string,
  signal: AbortSignal,
  { onLost = () => {}, everyMs = LOOK_EVERY_MS }: StateLockOptions = {},
): Promise<void> => {
  const lock = await StateLock.take(stateDir).catch(cause => {
    if (cause instanceof ShoalError) throw cause
    throw new ShoalError('store_unavailable', `cannot lock ${stateDir}: ${cause.message}`, {
      cause,
    })
  })
  const timer = setInterval(() => void lock.look(onLost).catch(() => {}), everyMs).unref()
  const release = (): void => {
    clearInterval(timer)
    lock.release()
  }
  if (signal.aborted) release()
  signal.addEventListener('abort', release, { once: true })
}

/** The locked folder, and the socket in it. */
class StateLock {
  readonly #stateDir: string
  readonly #folder: number
  #server: Server | undefined
  #inode: bigint | undefined
  #isReleased = false

  /** Throws `conflict` when another process holds the lock. */
  static async take(stateDir: string): Promise<StateLock> {
    await mkdir(stateDir, { recursive: true, mode: 0o700 })
    const lock = new StateLock(stateDir)
    try {
      if ((await tryFlock(lock.#folder)) && (await lock.#listen())) return lock
      throw createHeldError(stateDir, await askHolder(lock.#pathOf(NAME)))
    } catch (error) {
      closeSync(lock.#folder)
      throw error
    }
  }

  private constructor(stateDir: string) {
    this.#stateDir = stateDir
    this.#folder = openSync(stateDir, 'r')
  }

  /** Puts the socket back when it was deleted. */
  async look(onLost: (message: string) => void): Promise<void> {
    const found = inodeOf(this.#pathOf(NAME))
    if (found === this.#inode || this.#isReleased) return
    this.#server?.close()
    this.#server = undefined
    const isBack = await this.#listen()
    onLost(
      isBack
        ? `the lock file of ${this.#stateDir} was deleted; it was created again`
        : `another process uses ${this.#stateDir}, because the lock file was deleted: stop one of them`,
    )
    if (!isBack) this.#inode = found
  }

  release(): void {
    if (this.#isReleased) return
    this.#isReleased = true
    if (this.#server !== undefined) rmSync(join(this.#stateDir, NAME), { force: true })
    this.#server?.close()
    closeSync(this.#folder)
  }

  // the name of a socket has at most 107 bytes (unix(7)), and folder paths may be longer
  #pathOf(name: string): string {
    return `/proc/self/fd/${this.#folder}/${name}`
  }

  /** Returns false when another process listens. */
  async #listen(): Promise<boolean> {
    const own = this.#pathOf(`${NAME}.${randomUUID()}`)
    const server = createServer(sendPid).unref()
    server.listen({ path: own, readableAll: true, writableAll: true })
    await once(server, 'listening')
    this.#inode = inodeOf(own)
    const isOurs = await place(own, this.#pathOf(NAME)).finally(() => rm(own, { force: true }))
    if (isOurs) this.#server = server
    else server.close()
    return isOurs
  }
}

const createHeldError = (stateDir: string, pid: number | undefined): ShoalError =>
  new ShoalError(
    'conflict',
    `another process already uses ${stateDir}${pid === undefined ? '' : ` (pid ${pid})`}: stop it, or use another folder with --state-dir`,
  )

const sendPid = (socket: Socket): void => {
  socket.on('error', () => {})
  socket.end(String(process.pid))
  socket.destroySoon()
}

const inodeOf = (path: string): bigint | undefined =>
  statSync(path, { bigint: true, throwIfNoEntry: false })?.ino

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

/** Returns the process id that the holder of a lock sends; undefined when it sends none in time. */
const askHolder = async (path: string): Promise<number | undefined> => {
  const socket = connect(path)
  try {
    const [sent] = await once(socket, 'data', { signal: AbortSignal.timeout(ASK_MS) })
    const pid = Number(sent)
    return Number.isSafeInteger(pid) ? pid : undefined
  } catch {
    return undefined
  } finally {
    socket.destroy()
  }
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
