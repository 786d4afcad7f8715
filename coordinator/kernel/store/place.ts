import { readFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { ShoalError } from '../../../shared/errors.ts'
import { isLoopback } from '../base/is-loopback.ts'
import type { PostgresAddress } from './postgres/connection.ts'
import type { StoreSettings } from './store-settings.ts'

/** The place of a store: the folder of SQLite, or a PostgreSQL database. */
export type StorePlace = string | PostgresAddress

/** Settings that name the place. */
export interface StoreConfig {
  state_dir: string
  store: StoreSettings
}

/**
 * The place that the configuration names. Throws `config_invalid` for a file that cannot be read.
 * Without `password_file` the driver looks where PostgreSQL's own clients do: PGPASSWORD, ~/.pgpass.
 */
export const storePlaceOf = ({ state_dir, store }: StoreConfig): StorePlace => {
  const { url, password_file, ca_file, prepared } = store
  if (url === undefined) return state_dir
  const password = readSetting('store.password_file', password_file)?.trimEnd()
  const ssl = tlsFor(url, readSetting('store.ca_file', ca_file))
  return { ...addressOf(url), password, ssl, prepared }
}

const PORT = 5432

/** Address without password and TLS; nothing of it comes from the environment. */
const addressOf = (url: string): Omit<PostgresAddress, 'password' | 'ssl'> => {
  const { port, username, pathname } = new URL(url)
  return {
    host: hostOf(url),
    port: port === '' ? PORT : Number(port),
    user: decodeURIComponent(username) || userInfo().username,
    database: decodeURIComponent(pathname.slice(1)),
  }
}

/** `?host=/folder` names the folder of a unix socket. An IPv6 address loses its brackets. */
const hostOf = (url: string): string => {
  const { hostname, searchParams } = new URL(url)
  return searchParams.get('host') ?? decodeURIComponent(hostname).replaceAll(/[[\]]/g, '')
}

/** Connections that leave the machine are encrypted, and the name in the certificate is checked. */
const tlsFor = (url: string, ca: string | undefined): PostgresAddress['ssl'] => {
  const isLocal = hostOf(url)
    .split(',')
    .every(host => host.startsWith('/') || isLoopback(host))
  return isLocal && ca === undefined ? false : { ca, rejectUnauthorized: true }
}

const readSetting = (key: string, path: string | undefined): string | undefined => {
  try {
    return path === undefined ? undefined : readFileSync(path, 'utf8')
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new ShoalError('config_invalid', `${key}: cannot read ${path} (${code})`, { cause })
  }
}
