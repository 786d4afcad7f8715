import { readFile } from 'node:fs/promises'
import { hostname, networkInterfaces } from 'node:os'
import { ShoalError } from '../../shared/errors.ts'
import { type CoordinatorConfig, isLoopback } from '../config.ts'
import { ownCertificate, type ServerIdentity } from './own-certificate.ts'

/**
 * What the listener proves itself with: the operator's files, else on any address that is not
 * loopback a certificate of its own, else nothing. Ask again to learn of a renewed one.
 */
export const serverIdentity = async (
  config: CoordinatorConfig,
  now?: number,
): Promise<ServerIdentity | undefined> => {
  const { tls_cert_file: cert, tls_key_file: key, host } = config.http
  if (cert !== undefined && key !== undefined)
    return { cert: await readPem(cert), key: await readPem(key) }
  return isLoopback(host) ? undefined : ownCertificate(config.state_dir, namesOf(config), now)
}

const readPem = (path: string): Promise<string> =>
  readFile(path, 'utf8').catch((cause: Error) => {
    throw new ShoalError('config_invalid', `cannot read ${path}: ${cause.message}`, { cause })
  })

/** Every name and address under which this machine may be reached. */
export const namesOf = ({ http, public: { base_url } }: CoordinatorConfig): string[] => {
  const names = [
    ...(base_url === undefined ? [] : [new URL(base_url).hostname]),
    ...http.allowed_hosts,
    http.host,
    ...(isUnspecified(http.host) ? ownAddresses() : []),
    hostname(),
    'localhost',
    '127.0.0.1',
    '::1',
  ].map(name => name.replace(/^\[|\]$/g, '').toLowerCase())
  return [...new Set(names)].filter(name => !isUnspecified(name) && /^[\x21-\x7e]+$/.test(name))
}

const isUnspecified = (host: string): boolean => ['0.0.0.0', '::', '[::]'].includes(host)

/** Without those that hold on one link only, and mean nothing elsewhere. */
const ownAddresses = (): string[] =>
  Object.values(networkInterfaces())
    .flatMap(found => found ?? [])
    .map(({ address }) => address)
    .filter(address => !address.startsWith('fe80'))
