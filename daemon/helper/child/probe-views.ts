import { createHmac } from 'node:crypto'
import { get as getHttp, type RequestOptions } from 'node:http'
import { get as getHttps } from 'node:https'
import type { ProbeInput } from './probe-arguments.ts'

type Fields = Record<string, unknown>
type View = (told: Fields, input: ProbeInput) => unknown

/**
 * The same machine has the same digest, and nobody learns its id from it: machine-id(5) asks for
 * that where an id leaves its machine.
 */
const digest = (id: unknown): string | null =>
  typeof id === 'string' && id !== ''
    ? createHmac('sha256', id).update('shoal host probe').digest('hex').slice(0, 32)
    : null

const busiestFirst = (list: unknown): Fields[] =>
  ((list ?? []) as Fields[]).toSorted((a, b) => Number(b.cpu ?? 0) - Number(a.cpu ?? 0))

const VIEWS: Record<string, View> = {
  uuid: told => ({ ...told, os: digest(told.os), hardware: digest(told.hardware) }),
  processes: told => ({ ...told, list: busiestFirst(told.list) }),
  versions: (told, { apps }) =>
    apps === undefined ? told : Object.fromEntries(apps.map(app => [app, told[app] ?? ''])),
  // the library says 404 for a site that nobody answers at
  'inet-checksite': async told =>
    told.status === 404 ? { ...told, status: await statusOf(String(told.url)) } : told,
}

/** How the answer of a probe is shown, where that is not as the library tells it. */
export const arranged = (probeId: string, told: unknown, input: ProbeInput): unknown =>
  VIEWS[probeId]?.(told as Fields, input) ?? told

const STATUS_MS = 3000

/** Null where nobody answers. */
const statusOf = (url: string): Promise<number | null> => {
  const get = url.startsWith('https:') ? getHttps : getHttp
  const options: RequestOptions = { agent: false, signal: AbortSignal.timeout(STATUS_MS) }
  return new Promise(done => {
    const request = get(url, options, response => {
      done(response.statusCode ?? null)
      request.destroy()
    })
    request.on('error', () => done(null))
  })
}
