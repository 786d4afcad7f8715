import { type HttpTarget, httpProbe } from '../../../net/http-probe.ts'
import { runTogether } from '../../../net/run-together.ts'
import { shakeHands } from '../../../net/shake-hands.ts'
import { hashFavicon } from './favicon-hash.ts'
import { type FetchedPage, fetchPage } from './fetch-page.ts'
import { keepSurest, matchPath, matchProducts, type Product } from './match-products.ts'
import { PATH_RULES, type PathRule } from './path-rules.ts'
import { readHeaders } from './read-headers.ts'
import { type Page, readPage } from './read-page.ts'

export type Fingerprint = Awaited<ReturnType<typeof fingerprint>>

const CONCURRENCY = 4

/**
 * Identifies what answers at a port. A TLS handshake decides the scheme.
 * @throws Error when nothing there speaks HTTP
 */
export const fingerprint = async (plain: Omit<HttpTarget, 'isTls'>) => {
  const tls = await shakeHands(plain).catch(() => null)
  const target = { ...plain, isTls: tls !== null }
  const startedAt = performance.now()
  const fetched = await fetchPage(target, '/')
  const responseMs = Math.round(performance.now() - startedAt)
  const page = readPage(fetched.answer)
  const headers = readHeaders(fetched.answer)
  return {
    host: plain.host,
    address: plain.address,
    port: plain.port,
    scheme: target.isTls ? ('https' as const) : ('http' as const),
    status: fetched.answer.status,
    final_url: fetched.url.slice(0, 2048),
    title: page.title,
    generator: page.generator,
    ...headers,
    favicon: await readFavicon(fetched, page).catch(() => null),
    tls,
    products: keepSurest([
      ...matchProducts({ headers, page, tls }),
      ...(await probePaths(fetched.target)),
    ]),
    response_ms: responseMs,
  }
}

const readFavicon = async ({ target, url }: FetchedPage, { icon }: Page) => {
  const found = URL.parse(icon ?? '/favicon.ico', url)
  // an icon on another host, or within the page, is not fetched
  const isHere = found?.origin === new URL(url).origin
  const place = isHere ? found : new URL('/favicon.ico', url)
  const { status, body } = await httpProbe(target, { path: `${place.pathname}${place.search}` })
  if (status !== 200 || body.length === 0) return null
  return { url: place.href.slice(0, 2048), ...hashFavicon(body) }
}

const probePaths = async (target: HttpTarget): Promise<Product[]> => {
  const ask = (rule: PathRule) => probePath(target, rule).catch(() => [])
  const products: Product[] = []
  for await (const found of runTogether(PATH_RULES, CONCURRENCY, target.signal, ask))
    products.push(...found)
  return products
}

const probePath = async (target: HttpTarget, rule: PathRule): Promise<Product[]> => {
  const { status, body } = await httpProbe(target, { path: rule.path, maxBytes: 16 * 1024 })
  return status === 200 ? matchPath(rule, body.toString('utf8')) : []
}
