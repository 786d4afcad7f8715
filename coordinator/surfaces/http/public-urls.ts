import { hostname } from 'node:os'
import { isLoopback } from '../../kernel/base/is-loopback.ts'
import type { ListenerSettings } from './public-config.ts'

/** The addresses that are published, without a slash at the end; `mcp` has one. */
export interface PublicUrls {
  base: string
  a2a: string
  mcp: string
  docs: string
  portal: string | undefined
}

/** Configured addresses, else those of the listener. `port` is the bound one. */
export const publicUrls = (config: ListenerSettings, port: number): PublicUrls => {
  const { base_url, a2a_url, mcp_url, docs_url, portal_url } = config.public
  const base = trimSlashes(base_url ?? listenerUrl(config, port))
  return {
    base,
    a2a: trimSlashes(a2a_url ?? base),
    mcp: mcp_url ?? `${base}/mcp/`,
    docs: trimSlashes(docs_url ?? `${base}/docs`),
    portal: portal_url === undefined ? undefined : trimSlashes(portal_url),
  }
}

const trimSlashes = (url: string): string => url.replace(/\/+$/, '')

const ANY_ADDRESS = /^(0\.0\.0\.0|::|\[::\])$/

/** URL of the listener. Plain HTTP is allowed only on loopback; see the configuration. */
const listenerUrl = ({ http }: ListenerSettings, port: number): string => {
  const name = ANY_ADDRESS.test(http.host) ? (http.allowed_hosts[0] ?? hostname()) : http.host
  const plain = isLoopback(http.host) && http.tls_cert_file === undefined
  const host = name.includes(':') && !name.startsWith('[') ? `[${name}]` : name
  return `${plain ? 'http' : 'https'}://${host}:${port}`
}
