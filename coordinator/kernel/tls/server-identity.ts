import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { hostname, networkInterfaces } from 'node:os'
import { ShoalError } from '../../../shared/errors.ts'
import { isLoopback } from '../base/is-loopback.ts'
import {
  type CertificateParts,
  loadOwnCertificate,
  type ServerIdentity,
} from './own-certificate.ts'

/** Settings that say under which names the listener is reached. */
interface NamesConfig {
  http: { host: string; allowed_hosts: readonly string[] }
  public: { base_url?: string | undefined }
}

/** Settings that say what the listener presents. */
export interface IdentityConfig extends NamesConfig {
  state_dir: string
  http: NamesConfig['http'] & {
    tls_cert_file?: string | undefined
    tls_key_file?: string | undefined
  }
}

/**
 * Returns what the listener presents: the operator's files; without them, on any address other than
 * loopback, the coordinator's own certificate; on loopback undefined. Each call reads the files
 * again and renews a certificate that is due.
 */
export const loadServerIdentity = async (
  config: IdentityConfig,
  secrets: CertificateParts['secrets'],
  now?: number,
): Promise<ServerIdentity | undefined> => {
  const { tls_cert_file: cert, tls_key_file: key, host } = config.http
  if (cert !== undefined && key !== undefined)
    return { cert: await readPem(cert), key: await readPem(key) }
  return isLoopback(host)
    ? undefined
    : loadOwnCertificate({ stateDir: config.state_dir, secrets }, listServerNames(config), now)
}

const readPem = (path: string): Promise<string> =>
  readFile(path, 'utf8').catch((cause: Error) => {
    throw new ShoalError('config_invalid', `cannot read ${path}: ${cause.message}`, { cause })
  })

/** Lists every name and address under which clients may reach this machine. */
export const listServerNames = ({ http, public: { base_url } }: NamesConfig): string[] => {
  const names = [
    ...(base_url === undefined ? [] : [new URL(base_url).hostname]),
    ...http.allowed_hosts,
    http.host,
    ...(isUnspecified(http.host) ? listOwnAddresses() : []),
    hostname(),
    'localhost',
    '127.0.0.1',
    '::1',
  ].map(name => name.replace(/^\[|\]$/g, '').toLowerCase())
  return [...new Set(names)].filter(name => !isUnspecified(name) && /^[\x21-\x7e]+$/.test(name))
}

/** Addresses of this machine at which a listener on this host is reached from others. */
export const listListeningAddresses = (host: string): string[] => {
  if (!isUnspecified(host)) return [host.replace(/^\[|\]$/g, '')].filter(isIP)
  return listOwnAddresses().filter(address => !isLoopback(address))
}

const isUnspecified = (host: string): boolean => ['0.0.0.0', '::', '[::]'].includes(host)

/** Link-local addresses are left out: they identify the machine on a single link only. */
const listOwnAddresses = (): string[] =>
  Object.values(networkInterfaces())
    .flatMap(found => found ?? [])
    .map(({ address }) => address)
    .filter(address => !address.startsWith('fe80'))
