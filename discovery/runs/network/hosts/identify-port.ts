import { connect } from 'node:net'
import { cleanText } from '../../../../shared/mdns/txt.ts'
import { WEB_PORTS } from '../../../net/port-sets.ts'
import type { ScanContext } from '../../../scan-run.ts'
import { requireInScope } from '../../../scope.ts'
import { fingerprint } from '../http/fingerprint.ts'

export interface NamedPort {
  port: number
  name: string
  product: string | null
  version: string | null
  title: string | null
  is_encrypted: boolean | null
}

interface Place {
  address: string
  port: number
}

type Limits = Pick<ScanContext, 'scope' | 'signal'>

/** Longest wait for one answer of a web port, and for a banner, in milliseconds. */
const WEB_MS = 1500
const BANNER_MS = 600
const MAX_BANNER_BYTES = 256

/**
 * Names what answers at an open port. A web port is asked for its page; any other port gets nothing
 * and may say what it is. A port that says nothing is `unknown`: its number proves nothing.
 *
 * @param banner what the port said, where that was read before
 */
export const identifyPort = async (
  place: Place,
  limits: Limits,
  banner?: string,
): Promise<NamedPort> => {
  const named = WEB_PORTS.includes(place.port) ? await readPage(place, limits) : undefined
  return named ?? nameBanner(place.port, banner ?? (await readBanner(place, limits)))
}

const readPage = async (
  { address, port }: Place,
  { scope, signal }: Limits,
): Promise<NamedPort | undefined> => {
  try {
    const target = { host: address, address, port, scope, signal, timeoutMs: WEB_MS }
    const { products, server, title, scheme } = await fingerprint(target)
    const [product] = products
    return {
      port,
      name: 'http',
      product: product?.name ?? server,
      version: product?.version ?? null,
      title,
      is_encrypted: scheme === 'https',
    }
  } catch {
    return undefined
  }
}

/** First line that a port sends by itself; empty without one in time. */
export const readBanner = (
  { address, port }: Place,
  { scope, signal }: Limits,
): Promise<string> => {
  requireInScope(scope, address)
  const { promise, resolve } = Promise.withResolvers<string>()
  const socket = connect({ host: address, port, timeout: BANNER_MS, signal })
  const timer = setTimeout(() => socket.destroy(), BANNER_MS)
  let text = ''
  socket.on('data', bytes => {
    text += bytes.toString('latin1')
    if (text.includes('\n') || text.length >= MAX_BANNER_BYTES) socket.destroy()
  })
  socket.on('error', () => {})
  socket.once('close', () => {
    clearTimeout(timer)
    resolve(text.slice(0, MAX_BANNER_BYTES).split('\n')[0]?.trim() ?? '')
  })
  return promise
}

/** Banners by which a protocol names itself, with their product and version. */
const BANNERS: readonly { name: string; pattern: RegExp }[] = [
  // RFC 4253, 4.2
  { name: 'ssh', pattern: /^SSH-[\d.]+-([^\s_]{1,64})_?(\S{0,64})/ },
  // RFC 6143, 7.1.1
  { name: 'vnc', pattern: /^RFB \d{3}\.\d{3}/ },
  { name: 'ftp', pattern: /^220[ -].*\bFTP\b/i },
  { name: 'smtp', pattern: /^220[ -].*\bE?SMTP\b/i },
]

export const nameBanner = (port: number, banner: string): NamedPort => {
  const plain = { port, title: null, is_encrypted: null }
  for (const { name, pattern } of BANNERS) {
    const found = pattern.exec(banner)
    if (found === null) continue
    const [, product, version] = found
    return { ...plain, name, product: toText(product), version: toText(version) }
  }
  return { ...plain, name: 'unknown', product: null, version: null }
}

const toText = (text: string | undefined): string | null =>
  text === undefined || text === '' ? null : cleanText(text).slice(0, 64)
