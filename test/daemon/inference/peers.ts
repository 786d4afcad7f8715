import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, request } from 'node:http'
import http2 from 'node:http2'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import type { Test } from 'tap'
import { InferenceConfig } from '../../../daemon/inference/config.ts'
import { type InferenceService, inferenceService } from '../../../daemon/services/inference.ts'
import { Catalogue, type ModelKind } from '../../../shared/catalogue.ts'
import type { Usage } from '../../../shared/wire/openai.ts'

type Entry = {
  id: string
  weights: string
  sha256?: string
  kind?: ModelKind
  context_length?: number
}

/** A started service that ends with the test. */
export const startService = async (
  t: Test,
  entries: Entry[],
  config: Partial<InferenceConfig> = {},
  stateFiles: Record<string, string> = {},
): Promise<InferenceService> => {
  const stateDir = mkdtempSync(join(tmpdir(), 'shoal-service-'))
  for (const [name, text] of Object.entries(stateFiles)) writeFileSync(join(stateDir, name), text)
  const service = inferenceService({
    catalogue: Catalogue.parse(
      entries.map(entry => ({
        kind: 'chat',
        minimum_tier: 'free',
        context_length: 2048,
        ...entry,
      })),
    ),
    config: InferenceConfig.parse({ threads: 1, gpu: 'off', ...config }),
    stateDir,
    logger: pino({ level: 'silent' }),
  })
  const stop = new AbortController()
  t.teardown(() => {
    stop.abort()
    rmSync(stateDir, { recursive: true, force: true })
  })
  await service.start({ signal: stop.signal, fail: error => t.error(error) })
  return service
}

/** Waits until every engine is ready or has failed. */
export const waitUntilSettled = (service: InferenceService): Promise<void> =>
  waitForReports(service, reports =>
    reports.every(({ state }) => state === 'ready' || state === 'failed'),
  )

export const waitForReports = (
  service: InferenceService,
  condition: (reports: ReturnType<InferenceService['reports']>) => boolean,
): Promise<void> =>
  new Promise(resolve => {
    const stop = service.onChange(() => {
      if (!condition(service.reports())) return
      stop()
      resolve()
    })
    if (condition(service.reports())) {
      stop()
      resolve()
    }
  })

/** The service behind node:http, as on loopback. */
export const startInferenceServer = async (t: Test, service: InferenceService): Promise<number> => {
  const server = createServer((request, response) => service.handle(request, response))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

/** The service behind node:http2, as on the link; the answer is the coordinator's side. */
export const connectLink = async (
  t: Test,
  service: InferenceService,
): Promise<http2.ClientHttp2Session> => {
  const server = http2.createServer((request, response) => service.handle(request, response))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const session = http2.connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  t.teardown(() => {
    session.destroy()
    server.close()
  })
  return session
}

interface PeerAnswer {
  status: number
  headers: IncomingHttpHeaders
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: what the test expects in it is what it tests
  json: any
  usage: Usage | undefined
}

/** One request of a plain client; a body that is not text is sent as JSON. */
export const call = (
  port: number,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<PeerAnswer> =>
  new Promise((resolve, reject) => {
    const sent = request(
      {
        port,
        host: '127.0.0.1',
        method,
        path,
        headers: { 'content-type': 'application/json', ...headers },
      },
      response => {
        let text = ''
        response.setEncoding('utf8')
        response.on('data', part => {
          text += part
        })
        response.on('error', reject)
        response.on('end', () => {
          const trailer = response.trailers['x-shoal-usage']
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text,
            json:
              response.headers['content-type'] === 'application/json'
                ? JSON.parse(text)
                : undefined,
            usage: trailer === undefined ? undefined : JSON.parse(trailer),
          })
        })
      },
    )
    sent.on('error', reject)
    sent.end(typeof body === 'string' || body === undefined ? body : JSON.stringify(body))
  })

export const CHAT = '/v1/chat/completions'

/** The body of a chat with one question. */
export const createChatBody = (content: string, more: Record<string, unknown> = {}) => ({
  model: 'one',
  messages: [{ role: 'user', content }],
  temperature: 0,
  max_tokens: 8,
  ...more,
})
