import { accessSync, constants } from 'node:fs'
import { join } from 'node:path'

/** Debian keeps servers outside the path of ordinary users. */
const FOLDERS = ['/usr/sbin', '/usr/local/sbin', '/usr/bin', '/usr/local/bin']

/** Path of an installed program; undefined where it is missing. */
export const findProgram = (name: string, path = process.env.PATH ?? ''): string | undefined =>
  [...path.split(':'), ...FOLDERS].map(folder => join(folder, name)).find(isExecutable)

const isExecutable = (file: string): boolean => {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
