import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import type { CellStream } from '../../../../coordinator/fleet/cells/cell-link.ts'
import { ClientAnswer } from '../../../../coordinator/gateway/dispatch/client-answer.ts'
import { createAskModel } from '../../../../coordinator/surfaces/http/ask-model.ts'
import { cutAnswer } from '../../../../coordinator/surfaces/http/cut-answer.ts'
import type { HttpExchange } from '../../../../coordinator/surfaces/http/exchange.ts'
import { errorBody, ShoalError } from '../../../../shared/errors.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { SSE_DONE, sseData, sseError } from '../../../../shared/wire/sse.ts'
import { createAnswerMemory } from '../../../support/answer-memory.ts'
import { keyOfTier } from '../../../support/app.ts'

const key = keyOfTier('pro')
const chunk = (content: string, usage?: object) => ({
  id: 'c',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: usage ? [] : [{ index: 0, delta: { content }, logprobs: null, finish_reason: null }],
  ...(usage && { usage }),
})
const USAGE = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }

const ask = (
  infer: (exchange: HttpExchange) => Promise<void>,
  {
    signal = new AbortController().signal,
    delta = (_text: string): Promise<void> | void => {},
  } = {},
) =>
  createAskModel({ infer })({
    body: { model: 'm', messages: [{ role: 'user', content: 'hi' }] },
    key,
    tenantId: 'home',
    requestId: 'r',
    signal,
    delta,
  })

t.test('an answer is parsed, however its bytes are split', async t => {
  const text = `${sseData(chunk('Grüß '))}${sseData(chunk('Gott'))}${sseData(chunk('', USAGE))}${SSE_DONE}`
  const bytes = Buffer.from(text)
  for (const size of [1, 7, bytes.length]) {
    const deltas: string[] = []
    const answer = await ask(
      async ({ response, route, body, tenantId }) => {
        t.match([route, tenantId], ['/v1/chat/completions', 'home'])
        t.match(body, { stream: true, model: 'm' })
        response.writeHead(200, {})
        for (let at = 0; at < bytes.length; at += size)
          response.write(bytes.subarray(at, at + size))
        response.end()
      },
      { delta: piece => void deltas.push(piece) },
    )
    t.strictSame(answer, { text: 'Grüß Gott', usage: USAGE })
    t.strictSame(deltas, ['Grüß ', 'Gott'])
  }
})

t.test('a reader that is busy holds back the answer', async t => {
  const busy = Promise.withResolvers<void>()
  const deltas: string[] = []
  const delta = (piece: string): Promise<void> => {
    deltas.push(piece)
    return busy.promise
  }
  const asked = ask(
    async ({ response }) => {
      response.writeHead(200, {})
      for (let i = 0; i < 3; i++) response.write(sseData(chunk('x'.repeat(30_000))))
      t.equal(response.writableNeedDrain, true)
      response.end(SSE_DONE)
    },
    { delta },
  )
  await turn()
  t.equal(deltas.length, 1)
  busy.resolve()
  t.equal((await asked).text.length, 90_000)
})

t.test('an answer whose reader is behind at its end is complete', async t => {
  const busy = Promise.withResolvers<void>()
  const stream: CellStream = {
    unsentBytes: 0,
    pause: () => {},
    resume: () => {},
    cancel: () => {},
  }
  const asked = ask(
    async ({ response }) => {
      const client = new ClientAnswer({
        response,
        headers: {},
        memory: createAnswerMemory(),
        keyId: 'k',
        runtime: systemRuntime,
      })
      client.start({ 'content-type': 'text/event-stream' }, 'a')
      client.write(Buffer.from(sseData(chunk('x'.repeat(90_000)))), stream)
      await turn()
      t.equal(client.isStalled, true)
      client.end(Buffer.from(SSE_DONE))
    },
    { delta: () => busy.promise },
  )
  await turn()
  busy.resolve()
  t.equal((await asked).text.length, 90_000)
})

t.test('an error answer is thrown', async t => {
  const error = new ShoalError('context_length_exceeded', 'too long', { param: 'messages' })
  const cases: [string, (exchange: HttpExchange) => Promise<void>][] = [
    ['an error that is thrown', () => Promise.reject(error)],
    [
      'an error body',
      async ({ response }) => {
        response.writeHead(422, {})
        response.end(JSON.stringify(errorBody(error)))
      },
    ],
    [
      'the last event of a stream',
      async ({ response }) => {
        response.writeHead(200, {})
        response.end(sseError(error))
      },
    ],
    ['an answer that was cut', async ({ response }) => cutAnswer(response, error, {})],
  ]
  for (const [what, infer] of cases)
    await t.rejects(ask(infer), { code: 'context_length_exceeded', message: 'too long' }, what)
  await t.rejects(
    ask(async ({ response }) => {
      response.writeHead(200, {})
      response.write(sseData(chunk('half')))
      response.end()
    }),
    { code: 'cell_unavailable' },
    'half an answer is none',
  )
})

t.test('a caller that leaves ends the answer, and the producer is notified', async t => {
  const leaving = new AbortController()
  const told = Promise.withResolvers<boolean>()
  const asked = ask(
    async ({ response }) => {
      response.once('close', () => told.resolve(response.destroyed))
      leaving.abort()
      await told.promise
    },
    { signal: leaving.signal },
  )
  await t.rejects(asked, { name: 'AbortError' })
  t.equal(await told.promise, true)
})
