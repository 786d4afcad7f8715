import { type HttpAnswer, type HttpTarget, httpProbe, originOf } from '../../../net/http-probe.ts'

export interface FetchedPage {
  answer: HttpAnswer
  /** Place of the page after all redirects. */
  target: HttpTarget
  url: string
}

const MAX_REDIRECTS = 3

/**
 * Gets a page. Redirects are followed on the same host only, which keeps its pinned address: other
 * hosts would have to be resolved and judged anew.
 */
export const fetchPage = async (first: HttpTarget, path: string): Promise<FetchedPage> => {
  let target = first
  let url = new URL(path, originOf(target))
  for (let redirects = 0; ; redirects++) {
    const answer = await httpProbe(target, { path: `${url.pathname}${url.search}` })
    const next = redirects < MAX_REDIRECTS ? readRedirect(answer, url) : undefined
    if (next === undefined || next.hostname !== url.hostname)
      return { answer, target, url: url.href }
    url = next
    target = { ...target, isTls: next.protocol === 'https:', port: portOf(next) }
  }
}

const readRedirect = ({ status, headers }: HttpAnswer, from: URL): URL | undefined => {
  if (status < 300 || status > 399 || headers.location === undefined) return undefined
  const url = URL.parse(headers.location, from.href)
  return url !== null && /^https?:$/.test(url.protocol) ? url : undefined
}

const portOf = ({ port, protocol }: URL): number =>
  Number(port) || (protocol === 'https:' ? 443 : 80)
