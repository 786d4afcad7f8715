import ipaddr from 'ipaddr.js'
import { type AllowedTarget, allowsHost } from '../../../shared/outbound/allow-list.ts'
import { judgeAddress } from '../../../shared/outbound/judge.ts'
import {
  type Address,
  checkAddresses,
  type Resolve,
  systemResolve,
} from '../../../shared/outbound/resolve.ts'
import { SendError } from '../../../shared/outbound/send-error.ts'
import { DownloadError } from './download-error.ts'

interface GuardOptions {
  /** True for an address that the cell's own configuration names. */
  isTrusted: boolean
  /** Private targets that others may name too. */
  allowed: readonly AllowedTarget[]
  resolve?: Resolve
}

/** Finds the addresses that a server of a download may be reached at. @throws DownloadError */
export type AddressGuard = (url: URL) => Promise<readonly Address[]>

/**
 * Guards one request and its redirects: nobody but the cell's own configuration can make the cell
 * ask a server of its own network. A server of that network, such as a mirror, may redirect within
 * it; one of the internet may not. Addresses of a cloud's metadata are never asked.
 */
export const createAddressGuard = ({
  isTrusted,
  allowed,
  resolve = systemResolve,
}: GuardOptions): AddressGuard => {
  const rules = { allowed, allowHttp: true }
  let mayBeInternal = isTrusted
  return async url => {
    const host = url.hostname.replace(/^\[|\]$/g, '')
    const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80))
    const trusted = mayBeInternal || allowsHost(allowed, host, port)
    const target = { url, host, port, literal: ipaddr.isValid(host), trusted }
    try {
      const addresses = await checkAddresses(target, rules, resolve)
      mayBeInternal &&= !addresses.every(({ address }) => isPublic(address, port))
      return addresses
    } catch (error) {
      if (!(error instanceof SendError) || error.reason !== 'refused') throw error
      const remedy = `list ${url.host} in inference.download_allow of the cell to allow it`
      throw new DownloadError(
        `${url.host} is not a server of the public internet; ${remedy}`,
        'never',
        error,
      )
    }
  }
}

const isPublic = (address: string, port: number): boolean => {
  try {
    judgeAddress(address, port, { allowed: [], allowHttp: false })
    return true
  } catch {
    return false
  }
}
