import { readFile } from 'node:fs/promises'
import { ShoalError } from '../../shared/errors.ts'

/** Longest secret, in characters. */
const MAX_LENGTH = 4096

/**
 * Reads a secret from its file, without the line end.
 * @throws ShoalError config_invalid for a file that cannot be read, is empty or is too long
 */
export const readSecret = async (path: string): Promise<string> => {
  const text = await readFile(path, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    const message = `the secret file ${path} cannot be read: ${cause.code ?? cause.message}`
    throw new ShoalError('config_invalid', message, { cause })
  })
  const secret = text.replace(/\r?\n$/, '')
  if (secret.length > 0 && secret.length <= MAX_LENGTH) return secret
  throw new ShoalError(
    'config_invalid',
    `the secret file ${path} must hold one line of 1 to ${MAX_LENGTH} characters`,
  )
}
