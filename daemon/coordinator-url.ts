import * as z from 'zod'

/** `localhost`, 127.0.0.0/8 and ::1. */
const isLoopback = (hostname: string): boolean =>
  hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname)

/** Returns the reason why a coordinator's address cannot be used, or undefined if it can. */
export const addressFault = (text: string): string | undefined => {
  if (!URL.canParse(text)) return 'it is not a URL'
  const url = new URL(text)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'it must begin with https://'
  if (url.username !== '' || url.password !== '') return 'it must not contain a name or password'
  if (url.search !== '' || url.hash !== '') return 'it must end with its path'
  if (url.protocol === 'http:' && !isLoopback(url.hostname))
    return 'plain http would send the credential unprotected: use https, or a loopback address'
  return undefined
}

/** Address of the coordinator, to which the paths of `shared/wire/link.ts` are appended. */
export const CoordinatorUrl = z.string().superRefine((text, context) => {
  const fault = addressFault(text)
  if (fault !== undefined) context.addIssue(fault)
})

/** Shared address of the coordinators, and how they prove who they are. */
export interface CoordinatorTrust {
  url: string
  /** True when one authority is pinned, which vouches for coordinators and nothing else. */
  hasPinnedAuthority: boolean
}

/**
 * True when the cell may send its credential to an address that a coordinator has named. That message
 * is not signed: a certificate of a public authority is only proof for names below the configured
 * one.
 */
export const isTrustedAddress = (
  address: string,
  { url, hasPinnedAuthority }: CoordinatorTrust,
): boolean => {
  if (addressFault(address) !== undefined) return false
  const [own, other] = [new URL(url), new URL(address)]
  if (own.hostname === other.hostname) return own.protocol === other.protocol
  return (
    other.protocol === 'https:' &&
    (hasPinnedAuthority || other.hostname.endsWith(`.${own.hostname}`))
  )
}

/** A path of the coordinator, below the path that its address may have. */
export const coordinatorPath = (url: string, path: string): URL =>
  new URL(url.replace(/\/+$/, '') + path)
