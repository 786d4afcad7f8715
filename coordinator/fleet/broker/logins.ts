import { createHmac, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Secrets } from '../../kernel/secrets/secrets.ts'
import type { Login } from './external.ts'

const KEY_BYTES = 32

interface LoginOptions {
  /** Key from which the passwords are derived. */
  key: Buffer
  /** Name of the coordinator's own user at the broker. */
  username: string
  /** Holds the coordinator's password; without it one is derived. */
  passwordFile?: string
}

/** Returns the key of the passwords, which all coordinators of the store share. */
export const loadBrokerKey = async (secrets: Pick<Secrets, 'ensure'>): Promise<Buffer> => {
  const create = () => randomBytes(KEY_BYTES).toString('base64')
  return Buffer.from(await secrets.ensure('broker', create), 'base64')
}

/** Logins of the coordinators and cells at an external broker; cells never receive theirs. */
export const brokerLogins = ({ key, username, passwordFile }: LoginOptions) => {
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
