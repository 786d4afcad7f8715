import { text } from 'node:stream/consumers'
import { Listeners } from '../../../coordinator/kernel/base/listeners.ts'
import { DaemonConfig } from '../../../daemon/config.ts'
import { daemon } from '../../../daemon/daemon.ts'
import type { InferenceBackend } from '../../../daemon/daemon-parts.ts'
import {
  endWithUsage,
  type HttpRequest,
  type HttpResponse,
} from '../../../daemon/inference/openai/http.ts'
import type { RegisteredModels } from '../../../shared/wire/registered-models.ts'
import type { EngineReport } from '../../../shared/wire/telemetry.ts'
import { silent } from '../../support/cell.ts'

const ENGINE: EngineReport = {
  weights: 'echo',
  kind: 'chat',
  models: ['model-a:7b'],
  state: 'ready',
  slots: 4096,
  slots_busy: 0,
  queued: 0,
  context_length: 2048,
  restarts: 0,
}

const USAGE = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }

export interface EchoCell {
  /** Requests that reached the engine so far. */
  servedCount(): number
  /** Resolves when so many were served. */
  waitForServed(served: number): Promise<void>
  stop(): Promise<void>
}

/** Reports of the engine that answers for `model-a:7b`, and for each model that operators add. */
export const reportRegistered = (models: RegisteredModels | undefined): EngineReport[] => {
  const { entries = [], aliases = [] } = models ?? {}
  const added = [...entries, ...aliases].map(({ id }) => id)
  return [{ ...ENGINE, models: [...ENGINE.models, ...added] }]
}

/**
 * A real daemon in this process whose engine counts requests and answers each at once; a stream goes
 * on until its client leaves.
 */
export const echoCell = (
  url: string,
  stateDir: string,
  joinToken: string,
  report = reportRegistered,
): EchoCell => {
  const waiting = new Set<{ served: number; resolve: () => void }>()
  let served = 0
  const answer = async (request: HttpRequest, response: HttpResponse): Promise<void> => {
    const body = await text(request)
    served++
    for (const each of waiting) {
      if (served < each.served) continue
      waiting.delete(each)
      each.resolve()
    }
    if (body.includes('"stream":true')) return keepStreaming(response)
    response.setHeader('content-type', 'application/json')
    response.write(JSON.stringify({ object: 'chat.completion', usage: USAGE }))
    endWithUsage(response, USAGE)
  }
  let reports = report(undefined)
  const listeners = new Listeners<[]>()
  const inference: InferenceBackend = {
    name: 'inference',
    start: async () => {},
    reports: () => reports,
    onChange: listener => listeners.add(listener),
    setRegistered: async models => {
      reports = report(models)
      listeners.notify()
    },
    handle: (request, response) => {
      response.on('error', () => {})
      answer(request, response).catch(() => {})
    },
  }
  const stop = new AbortController()
  const config = DaemonConfig.parse({
    state_dir: stateDir,
    coordinator: { url, join_token: joinToken },
    telemetry: { interval_seconds: 1 },
  })
  const ended = daemon({ config, env: {}, inference, logger: silent, signal: stop.signal })
  return {
    servedCount: () => served,
    waitForServed: wanted =>
      wanted <= served
        ? Promise.resolve()
        : new Promise(resolve => waiting.add({ served: wanted, resolve })),
    stop: async () => {
      stop.abort()
      await ended
    },
  }
}

const CHUNK = `data: ${JSON.stringify({
  id: 'chatcmpl-echo',
  object: 'chat.completion.chunk',
  created: 1_800_000_000,
  model: 'model-a:7b',
  choices: [{ index: 0, delta: { content: 'x' }, logprobs: null, finish_reason: null }],
})}\n\n`
const CHUNK_MS = 200

const keepStreaming = (response: HttpResponse): void => {
  response.setHeader('content-type', 'text/event-stream; charset=utf-8')
  response.write(CHUNK)
  const timer = setInterval(() => response.write(CHUNK), CHUNK_MS)
  response.once('close', () => clearInterval(timer))
}
