// not undici: nothing but the status is read, and the helper loads nothing more for it
import { get as getHttp, type RequestOptions } from 'node:http'
import { get as getHttps } from 'node:https'

const STATUS_MS = 3000

/** Fetches the status of a site; null when it does not answer in time. */
export const fetchStatus = (url: string): Promise<number | null> => {
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
