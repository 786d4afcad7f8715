import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { ShoalError } from '../../../shared/errors.ts'
import type { SecretName } from './secrets.ts'

/** A file in which an earlier version kept a secret that the store has now. */
interface SecretFile {
  name: SecretName
  file: string
  encoding: 'utf8' | 'base64'
  /** Throws for a damaged file. */
  check: (bytes: Buffer) => unknown
}

const BROKER_KEY_BYTES = 32

const FILES: readonly SecretFile[] = [
  {
    name: 'signing',
    file: 'signing.json',
    encoding: 'utf8',
    check: bytes => createPrivateKey(JSON.parse(bytes.toString()).private_key),
  },
  {
    name: 'authority',
    file: join('tls', 'authority.pem'),
    encoding: 'utf8',
    check: bytes => [createPrivateKey(bytes), new X509Certificate(bytes)],
  },
  {
    name: 'broker',
    file: 'broker.key',
    encoding: 'base64',
    check: ({ length }) => {
      if (length !== BROKER_KEY_BYTES) throw new RangeError(`${length} bytes`)
    },
  },
]

interface FoundSecret extends Pick<SecretFile, 'name' | 'check'> {
  path: string
  bytes: Buffer
  /** Text as the store has it. */
  text: string
}

/** Reads the files of an earlier version. */
export const readSecretFiles = async (stateDir: string): Promise<FoundSecret[]> => {
  const found: FoundSecret[] = []
  for (const { name, file, encoding, check } of FILES) {
    const path = join(stateDir, file)
    const bytes = await readFile(path).catch(ignoreMissing)
    if (bytes !== undefined)
      found.push({ name, path, bytes, check, text: bytes.toString(encoding) })
  }
  return found
}

/** Throws `store_unavailable` for a damaged file. */
export const requireIntact = ({ path, bytes, check }: FoundSecret): void => {
  try {
    check(bytes)
  } catch (cause) {
    throw new ShoalError('store_unavailable', `${path} is damaged; restore it`, { cause })
  }
}

/**
 * Removes the files whose secrets the store has. Another one stays: nothing reads it any more, but
 * nothing else may have its contents.
 */
export const removeStoredFiles = async (
  found: readonly FoundSecret[],
  stored: (name: SecretName) => string | undefined,
  logger: Pick<Logger, 'info' | 'warn'>,
): Promise<void> => {
  for (const { name, path, text } of found)
    if (stored(name) === text) {
      await rm(path, { force: true })
      logger.info({ path }, 'the store has the secret now; its file was removed')
    } else logger.warn({ path }, 'the file is not used: the store has another secret in its place')
}

const ignoreMissing = (error: NodeJS.ErrnoException): undefined => {
  if (error.code !== 'ENOENT') throw error
}
