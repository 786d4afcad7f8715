import { hash, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { ShoalError } from '../../../shared/errors.ts'
import { createPrivate, readPrivate, replacePrivate } from '../../../shared/private-file.ts'
import { KEY_BYTES } from './cipher.ts'

/** A key of `sealing.key`, which encrypts the shared secrets in the store. */
export interface SealingKey {
  /** The beginning of its SHA-256 digest, which may be shown. */
  id: string
  bytes: Buffer
}

const ID_DIGITS = 16

/** Path of the file with the sealing keys: base64, one per line, newest first. */
export const sealingKeyPath = (stateDir: string): string => join(stateDir, 'sealing.key')

/** Reads the keys of a file; undefined without one. Throws `config_invalid` for a damaged one. */
export const readSealingKeys = async (path: string): Promise<SealingKey[] | undefined> => {
  const text = await readPrivate(path)
  return text === undefined ? undefined : parseKeys(text, path)
}

/** Creates the file with one key; returns the keys of the file when it exists already. */
export const createSealingKeys = async (path: string): Promise<SealingKey[]> => {
  const text = generateLine()
  const isNew = await createPrivate(path, text)
  return parseKeys(isNew ? text : ((await readPrivate(path)) ?? ''), path)
}

/** Adds a new first key. The others stay, because the store is still sealed with one of them. */
export const addSealingKey = async (path: string): Promise<SealingKey[]> => {
  const text = await readPrivate(path)
  if (text === undefined) throw new ShoalError('not_found', `there is no ${path}`)
  const added = generateLine() + text
  const keys = parseKeys(added, path)
  await replacePrivate(path, added)
  return keys
}

const generateLine = (): string => `${randomBytes(KEY_BYTES).toString('base64')}\n`

const parseKeys = (text: string, path: string): SealingKey[] => {
  const lines = text.split('\n').map(line => line.trim())
  const keys = lines.filter(line => line !== '').map(line => Buffer.from(line, 'base64'))
  if (keys.length === 0 || keys.some(({ length }) => length !== KEY_BYTES))
    throw new ShoalError(
      'config_invalid',
      `${path} is damaged: each line must be a key of ${KEY_BYTES} bytes in base64`,
    )
  return keys.map(bytes => ({ id: hash('sha256', bytes, 'hex').slice(0, ID_DIGITS), bytes }))
}
