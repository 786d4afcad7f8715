import { write, writeSync } from 'node:fs'

/** Lines that wait for a reader who does not read take no more memory than this, in characters. */
const MAX_WAITING = 1024 * 1024

const AGAIN_MS = 100

/**
 * Lines for a file descriptor, written in the background and in order; what waits at the end of the
 * process is written then. A log must not do harm: a reader that stands still, is gone, or a disk
 * that is full costs lines and nothing else, neither memory without bound, nor a crash, nor the end
 * of the process. That last one is why pino's own output is not used: what waits when a reader
 * leaves is tried for ever at the end (sonic-boom 4.2.1, `flushSync`).
 */
export const logOutput = (fd: number): { write: (line: string) => void } => {
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
    write(fd, chunk, (error, written) => {
      isWriting = false
      if (error?.code === 'EAGAIN') setTimeout(next, AGAIN_MS).unref()
      else {
        inHand = error || written === chunk.length ? undefined : chunk.subarray(written)
        next()
      }
    })
  }

  process.once('exit', () => {
    let rest = inHand === undefined || isWriting ? take() : Buffer.concat([inHand, take()])
    try {
      while (rest.length > 0) rest = rest.subarray(writeSync(fd, rest))
    } catch {
      // nobody is left who could be told
    }
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
