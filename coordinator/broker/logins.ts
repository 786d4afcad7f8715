import { createHmac, randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ShoalError } from '../../shared/errors.ts'
import type { Login } from './external.ts'

const KEY_BYTES = 32

interface LoginOptions {
  stateDir: string
  /** Name of the coordinator's own user at the broker. */
  username: string
  /** Holds the coordinator's password; without it one is derived. */
  passwordFile?: string
}

/**
 * Logins of this coordinator at an external broker. Passwords are derived from a key in the state
 * folder, which is created if missing; cells never receive them.
 */
export const brokerLogins = ({ stateDir, username, passwordFile }: LoginOptions) => {
  const key = brokerKey(stateDir)
  const deriveLogin = (name: string): Login => ({
    username: name,
    password: createHmac('sha256', key).update(`mqtt:${name}`).digest('base64url'),
  })
  const coordinator =
    passwordFile === undefined
      ? deriveLogin(username)
      : { username, password: readFileSync(passwordFile, 'utf8').trim() }
  return { coordinator, cells: deriveLogin('cells') }
}

const brokerKey = (stateDir: string): Buffer => {
  const path = join(stateDir, 'broker.key')
  mkdirSync(stateDir, { recursive: true, mode: 0o700 })
  try {
    writeFileSync(path, randomBytes(KEY_BYTES), { mode: 0o600, flag: 'wx' })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  const key = readFileSync(path)
  if (key.length !== KEY_BYTES)
    throw new ShoalError('config_invalid', `${path} does not hold ${KEY_BYTES} bytes`)
  return key
}
