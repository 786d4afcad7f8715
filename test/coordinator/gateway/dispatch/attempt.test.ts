import { once } from 'node:events'
import { createServer, get, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { Follower } from '../../../../coordinator/gateway/dispatch/attempt.ts'
import { ClientAnswer } from '../../../../coordinator/gateway/dispatch/client-answer.ts'
import { FLAG, FRAME } from '../../../../coordinator/gateway/link/frames.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { createAnswerMemory } from '../../../support/answer-memory.ts'
import { frame, greetedCell, OK } from '../link/raw-cell.ts'

/** An answer that a client waits for. */
const openResponse = async (t: Test): Promise<ServerResponse> => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  get({ port: (server.address() as AddressInfo).port }).on('error', () => {})
  const [, response] = (await once(server, 'request')) as [unknown, ServerResponse]
  return response
}

const follow = async (t: Test, response: ServerResponse, streaming: boolean) => {
  const cell = await greetedCell(t)
  const memory = createAnswerMemory()
  const mine = { memory, keyId: 'k' }
  const client = new ClientAnswer({ response, headers: {}, runtime: systemRuntime, ...mine })
  const options = {
    client,
    streaming,
    accept: undefined,
    onStart: () => {},
    nowMs: () => 0,
    ...mine,
  }
  const { attempt } = new Follower(cell.link, { method: 'POST', path: '/' }, options)
  cell.send(frame(FRAME.headers, FLAG.endHeaders, 1, OK))
  return { cell, attempt, memory }
}

t.test('an aborted answer buffers no data that arrives later', async t => {
  for (const text of ['data: a\n\ndata: b', 'data: a\n\ndata: [DONE]\n\n']) {
    const response = await openResponse(t)
    const { cell, attempt, memory } = await follow(t, response, true)
    response.end('data: {"error":{}}\n\n')
    cell.send(frame(FRAME.data, 0, 1, Buffer.from(text)))
    t.match(await attempt, { kind: 'cancelled' })
    t.equal(memory.budget.used, 0)
  }
})
