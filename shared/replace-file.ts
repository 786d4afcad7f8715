import { chmodSync, chownSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { ShoalError } from './errors.ts'

/**
 * Replaces a configuration file in one step; its owner and mode stay, because a service of another
 * user must read it. Throws `store_unavailable`.
 */
export const replaceFile = (file: string, text: string): void => {
  const temporary = `${file}.new`
  try {
    const { mode, uid, gid } = statSync(file)
    writeFileSync(temporary, text, { mode: 0o600, flush: true })
    chownSync(temporary, uid, gid)
    chmodSync(temporary, mode)
    renameSync(temporary, file)
  } catch (cause) {
    rmSync(temporary, { force: true })
    const { code } = cause as NodeJS.ErrnoException
    throw new ShoalError('store_unavailable', `cannot write ${file} (${code})`, { cause })
  }
}
