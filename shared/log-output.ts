import { constants, fstatSync, openSync, write, writeSync } from 'node:fs'
import { isatty } from 'node:tty'

/** Most characters that are buffered for a slow reader; further lines are dropped. */
const MAX_WAITING = 1024 * 1024

const AGAIN_MS = 100
/** Longest wait at process exit for a reader that takes nothing, in milliseconds. */
const PATIENCE_MS = 250
const LOOK_MS = 5

/**
 * Writes lines to a file descriptor, in order, and flushes the buffer at process exit. Logging must
 * do no harm: a stalled or closed reader, or a full disk, only costs lines, and causes no unbounded
 * memory, crash or hanging exit. pino's own output is not used because it retries forever at exit
 * once its reader has left (sonic-boom 4.2.1, `flushSync`). Files and sockets are written in the
 * background.
 */
export const openLogOutput = (given: number): { write: (line: string) => void } => {
  const own = openNonBlocking(given)
  const fd = own ?? given
  const put = own === undefined ? write : writeNow
  let waiting: string[] = []
  let waitingLength = 0
  let inHand: Buffer | undefined
  let isWriting = false

  const take = (): Buffer => {
    const taken = Buffer.from(waiting.join(''))
    waiting = []
    waitingLength = 0
    return taken
  }

  const next = (): void => {
    if (inHand === undefined && waiting.length > 0) inHand = take()
    const chunk = inHand
    if (chunk === undefined) return
    isWriting = true
    put(fd, chunk, (error, written) => {
      isWriting = false
      if (error?.code === 'EAGAIN') setTimeout(next, AGAIN_MS).unref()
      else {
        inHand = error || written === chunk.length ? undefined : chunk.subarray(written)
        next()
      }
    })
  }

  process.once('exit', () => {
    writeRest(fd, inHand === undefined || isWriting ? take() : Buffer.concat([inHand, take()]))
  })

  return {
    write: line => {
      if (waitingLength + line.length > MAX_WAITING) return
      waiting.push(line)
      waitingLength += line.length
      if (inHand === undefined) next()
    },
  }
}

/**
 * Opens the same pipe or terminal again in non-blocking mode (Linux, proc(5)): a thread blocked in
 * a write would keep the process from exiting. The flag applies to this process only; other users
 * of the descriptor are not affected. Undefined for other files, and where opening is not
 * permitted.
 */
const openNonBlocking = (fd: number): number | undefined => {
  try {
    if (!fstatSync(fd).isFIFO() && !isatty(fd)) return undefined
    const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants
    return openSync(`/proc/self/fd/${fd}`, O_WRONLY | O_NONBLOCK | O_NOCTTY)
  } catch {
    return undefined
  }
}

type Done = (error: NodeJS.ErrnoException | null, written: number) => void

const writeNow = (fd: number, chunk: Buffer, done: Done): void => {
  let written = 0
  try {
    written = writeSync(fd, chunk)
  } catch (error) {
    done(error as NodeJS.ErrnoException, 0)
    return
  }
  done(null, written)
}

/** Writes what the reader accepts; the rest is dropped, as there is nowhere left to report it. */
const writeRest = (fd: number, whole: Buffer): void => {
  let rest = whole
  let until = performance.now() + PATIENCE_MS
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(fd, rest))
      until = performance.now() + PATIENCE_MS
    } catch (error) {
      const isFull = (error as NodeJS.ErrnoException).code === 'EAGAIN'
      if (!isFull || performance.now() > until) return
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOOK_MS)
    }
  }
}
