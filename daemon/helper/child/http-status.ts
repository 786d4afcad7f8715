import { get as getHttp, type RequestOptions } from 'node:http'
import { get as getHttps } from 'node:https'

const STATUS_MS = 3000

/** Status that a site answers; null where none answers in time. */
export const httpStatus = (url: string): Promise<number | null> => {
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
