import { randomUUID } from 'node:crypto'
import {
  closeSync,
  fchmodSync,
  fchownSync,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { ShoalError } from './errors.ts'

/**
 * Replaces a configuration file in one step; its owner and mode stay, because a service of another
 * user must read it. Throws `store_unavailable`.
 */
export const replaceFile = (file: string, text: string): void => {
  const temporary = `${file}.${randomUUID()}.new`
  try {
    writeLike(file, temporary, text)
    renameSync(temporary, file)
  } catch (cause) {
    rmSync(temporary, { force: true })
    const { code } = cause as NodeJS.ErrnoException
    throw new ShoalError('store_unavailable', `cannot write ${file} (${code})`, { cause })
  }
}

/**
 * Writes a new file with the owner and mode of another one. The folder may belong to another user
 * than root, which runs this: an existing link is never followed, and only the opened file changes.
 */
const writeLike = (file: string, path: string, text: string): void => {
  const { mode, uid, gid } = statSync(file)
  const opened = openSync(path, 'wx', 0o600)
  try {
    writeFileSync(opened, text)
    fchownSync(opened, uid, gid)
    fchmodSync(opened, mode)
    fsyncSync(opened)
  } finally {
    closeSync(opened)
  }
}
