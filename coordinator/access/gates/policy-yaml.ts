import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { ShoalError } from '../../../shared/errors.ts'

/** Throws `config_invalid` for a file that cannot be read. */
export const readPolicyFile = (file: string | URL): unknown => {
  try {
    return parse(readFileSync(file, 'utf8'), { logLevel: 'error' })
  } catch (cause) {
    throw new ShoalError('config_invalid', `policy ${file} cannot be read`, { cause })
  }
}
