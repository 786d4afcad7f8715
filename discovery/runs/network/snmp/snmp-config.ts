import { readFile } from 'node:fs/promises'
import * as z from 'zod'
import { ShoalError } from '../../../../shared/errors.ts'

const Path = z.string().min(1).max(1024)

const User = z
  .strictObject({
    name: z.string().min(1).max(32).describe('User name (RFC 3414, 2.1).'),
    auth_protocol: z.enum(['none', 'md5', 'sha', 'sha224', 'sha256', 'sha384', 'sha512']),
    auth_key_file: Path.exactOptional().describe('File with the authentication passphrase.'),
    priv_protocol: z.enum(['none', 'des', 'aes', 'aes256b', 'aes256r']).default('none'),
    priv_key_file: Path.exactOptional().describe('File with the privacy passphrase.'),
  })
  .refine(({ auth_protocol, auth_key_file }) => (auth_protocol === 'none') === !auth_key_file, {
    path: ['auth_key_file'],
    error: 'is needed for authentication, and only then',
  })
  .refine(({ priv_protocol, priv_key_file }) => (priv_protocol === 'none') === !priv_key_file, {
    path: ['priv_key_file'],
    error: 'is needed for privacy, and only then',
  })
  .refine(
    ({ auth_protocol, priv_protocol }) => auth_protocol !== 'none' || priv_protocol === 'none',
    {
      path: ['priv_protocol'],
      error: 'needs authentication (RFC 3411, 3.4.3)',
    },
  )

export const SnmpConfig = z
  .strictObject({
    communities: z
      .array(z.string().min(1).max(64))
      .max(4)
      .default([])
      .describe('Communities of version 2c that are not secret, such as `public`.'),
    communities_file: Path.exactOptional().describe('File with further communities, one per line.'),
    users: z.array(User).max(4).default([]).describe('Users of version 3, tried in this order.'),
    port: z.int().min(1).max(65_535).default(161).describe('UDP port of the agents.'),
  })
  .prefault({})

export type SnmpUser = Pick<z.output<typeof User>, 'name' | 'auth_protocol' | 'priv_protocol'> & {
  authKey: string | undefined
  privKey: string | undefined
}

/** Credentials with the content of their files. They are sent to agents and nowhere else. */
export interface SnmpCredentials {
  communities: readonly string[]
  users: readonly SnmpUser[]
  port: number
}

const MAX_COMMUNITIES = 8

/** @throws ShoalError config_invalid for a file that cannot be read */
export const readCredentials = async (section: unknown): Promise<SnmpCredentials> => {
  const { communities, communities_file, users, port } = SnmpConfig.parse(section ?? {})
  const more =
    communities_file === undefined ? [] : (await readSecret(communities_file)).split('\n')
  const all = [...communities, ...more.map(line => line.trim()).filter(line => line !== '')]
  return {
    communities: [...new Set(all)].slice(0, MAX_COMMUNITIES),
    users: await Promise.all(users.map(readUser)),
    port,
  }
}

const readUser = async (user: z.output<typeof User>): Promise<SnmpUser> => ({
  name: user.name,
  auth_protocol: user.auth_protocol,
  priv_protocol: user.priv_protocol,
  authKey: user.auth_key_file && (await readSecret(user.auth_key_file)),
  privKey: user.priv_key_file && (await readSecret(user.priv_key_file)),
})

const readSecret = async (path: string): Promise<string> =>
  (
    await readFile(path, 'utf8').catch((cause: Error) => {
      throw new ShoalError(
        'config_invalid',
        `snmp-discover cannot read ${path}: ${cause.message}`,
        {
          cause,
        },
      )
    })
  ).trim()
