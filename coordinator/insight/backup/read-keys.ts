import { readFileSync } from 'node:fs'
import { ShoalError } from '../../../shared/errors.ts'

/** First line of a file. Throws `config_invalid` for one that cannot be read. */
export const readPassphraseFile = (path: string): string =>
  readText('the passphrase', path).split(/\r?\n/, 1)[0] ?? ''

/**
 * Reads the secret keys of a file as age-keygen writes it: one per line, with comments. Throws
 * `config_invalid` for a file without one.
 */
export const readIdentityFile = (path: string): string[] => {
  const lines = readText('the age key', path).split('\n')
  const keys = lines.map(line => line.trim()).filter(line => line.startsWith('AGE-SECRET-KEY-'))
  if (keys.length > 0) return keys
  throw new ShoalError('config_invalid', `there is no secret key of age in ${path}`)
}

const readText = (what: string, path: string): string => {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new ShoalError('config_invalid', `cannot read ${what} in ${path} (${code})`, { cause })
  }
}
