import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import t from 'tap'
import { startForwarder } from '../../../bin/up/balancer/forward.ts'
import { type Coordinator, serve } from '../../../coordinator/assembly/serve.ts'
import { CoordinatorConfig } from '../../../coordinator/config.ts'
import { silent } from '../../support/cell.ts'
import { startCoordinators } from '../../support/coordinators.ts'
import { postgresMissing } from '../../support/postgres.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { temporaryFolder } from '../kernel/store/temporary.ts'

const CLIENTS = 12
/** Requests of each client after the coordinator has stopped. */
const MORE = 10

/** Status of a request, which is not repeated; 0 when its connection failed. */
const ask = async (agent: Agent, url: string) => {
  try {
    const [response] = (await once(request(url, { agent }).end(), 'response')) as [IncomingMessage]
    response.resume()
    await once(response, 'close')
    return { status: response.statusCode, connection: response.headers.connection }
  } catch {
    return { status: 0, connection: undefined }
  }
}

t.test('a coordinator that stops', { skip: postgresMissing }, async t => {
  // a client that makes no request for so long may meet the end of its connection
  const stop = { drain_seconds: 10, leave_seconds: 4 }
  const { coordinators, ask: askReplicas } = await startCoordinators(t, 2, stop)
  const stopping = coordinators[0] as Coordinator
  const ports = coordinators.map(({ url }) => Number(new URL(url).port))
  const forwarder = await startForwarder(0, ports)
  t.teardown(() => forwarder.close())
  const agent = new Agent({ keepAlive: true })
  t.teardown(() => agent.destroy())
  await waitUntil('both know each other', async () => {
    const { json } = await askReplicas(stopping.url, 'GET', '/v1/replicas')
    return json.replicas.length === 2
  })

  await t.test('fails no request over connections that clients keep', async t => {
    const over = new AbortController()
    const failed: unknown[] = []
    let answered = 0
    const client = async (): Promise<void> => {
      const own = new Agent({ keepAlive: true, maxSockets: 1 })
      for (let after = 0; after < MORE; after += over.signal.aborted ? 1 : 0) {
        const answer = await ask(own, `http://127.0.0.1:${forwarder.port}/healthz`)
        if (answer.status === 200) answered++
        else failed.push(answer)
      }
      own.destroy()
    }
    const clients = Array.from({ length: CLIENTS }, client)
    await waitUntil('all have a connection', () => answered > CLIENTS * 4)
    const closed = stopping.close()
    t.match(await ask(agent, `${stopping.url}/readyz`), { status: 503, connection: 'close' })
    t.match(await ask(agent, `${stopping.url}/healthz`), { status: 200, connection: 'close' })
    await closed
    over.abort()
    await Promise.all(clients)
    t.strictSame(failed, [])
  })
})

t.test('a sole coordinator does not wait for balancers when it stops', async t => {
  const state_dir = await temporaryFolder(t)
  const http = { port: 0, drain_seconds: 3600, leave_seconds: 3600 }
  const { url, close } = await serve(CoordinatorConfig.parse({ state_dir, http }), silent)
  const agent = new Agent({ keepAlive: true })
  t.teardown(() => agent.destroy())
  t.match(await ask(agent, `${url}/healthz`), { status: 200, connection: 'keep-alive' })
  await t.resolves(close())
})
