import { createWriteStream, renameSync, statSync } from 'node:fs'

export interface Log {
  write(line: string): void
  /** Calls back when everything is in the file. */
  end(done?: () => void): void
}

/** Size above which a log is renamed to `.1` when it is opened, replacing the previous one. */
const MAX_BYTES = 10 * 1024 * 1024

/** Opens a log file for appending; `onFailure` is called once when it cannot be written. */
export const openLog = (path: string, onFailure: (reason: string) => void): Log => {
  try {
    putAside(path)
  } catch (error) {
    onFailure(`${path} cannot be renamed: ${(error as Error).message}`)
  }
  const stream = createWriteStream(path, { flags: 'a', mode: 0o600 })
  stream.once('error', error => onFailure(`${path} cannot be written: ${error.message}`))
  stream.on('error', () => {})
  return {
    write: line => void (stream.destroyed || stream.write(`${line}\n`)),
    end: done => void stream.end(done),
  }
}

const putAside = (path: string): void => {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  if (size > MAX_BYTES) renameSync(path, `${path}.1`)
}
