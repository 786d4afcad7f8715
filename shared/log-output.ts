import { constants, fstatSync, openSync, write, writeSync } from 'node:fs'
import { isatty } from 'node:tty'

/** Lines that wait for a reader who does not read take no more memory than this, in characters. */
const MAX_WAITING = 1024 * 1024

const AGAIN_MS = 100
/** At the end of the process, a reader that takes nothing for so long is not waited for. */
const PATIENCE_MS = 250
const LOOK_MS = 5

/**
 * Lines for a file descriptor, in order; what waits at the end of the process is written then. A log
 * must not do harm: a reader that stands still, is gone, or a disk that is full costs lines and
 * nothing else, neither memory without bound, nor a crash, nor the end of the process. That last one
 * is why pino's own output is not used: what waits when a reader leaves is tried for ever at the end
 * (sonic-boom 4.2.1, `flushSync`). A file or socket is written to in the background.
 */
export const logOutput = (given: number): { write: (line: string) => void } => {
  const own = neverWaiting(given)
  const fd = own ?? given
  const put = own === undefined ? write : atOnce
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
 * The same pipe or terminal, opened once more so that a write to it never waits (Linux, proc(5)): a
 * thread that waits in one would keep the process from its end. For this process alone: who shares
 * the descriptor notices nothing. Undefined for anything else, and where it may not be opened.
 */
const neverWaiting = (fd: number): number | undefined => {
  try {
    if (!fstatSync(fd).isFIFO() && !isatty(fd)) return undefined
    const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants
    return openSync(`/proc/self/fd/${fd}`, O_WRONLY | O_NONBLOCK | O_NOCTTY)
  } catch {
    return undefined
  }
}

type Done = (error: NodeJS.ErrnoException | null, written: number) => void

const atOnce = (fd: number, chunk: Buffer, done: Done): void => {
  let written = 0
  try {
    written = writeSync(fd, chunk)
  } catch (error) {
    done(error as NodeJS.ErrnoException, 0)
    return
  }
  done(null, written)
}

/** As much as its reader takes; nobody is left who could be told of the rest. */
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
