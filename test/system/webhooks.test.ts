import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { bootstrap } from '../../coordinator/access/keys/bootstrap.ts'
import { openStore } from '../../coordinator/kernel/store/store.ts'
import { placeEmptyStore } from '../support/empty-store.ts'
import { MEMORY_FOLDER } from '../support/memory-folder.ts'
import { Process } from '../support/stack.ts'
import { waitUntil } from '../support/wait-until.ts'

t.test('a killed coordinator delivers accepted events and remembers its answers', async t => {
  const folder = mkdtempSync(join(MEMORY_FOLDER, 'shoal-webhooks-'))
  const stateDir = join(folder, 'coordinator')
  placeEmptyStore(stateDir)
  const store = await openStore(stateDir)
  const { keys } = await bootstrap(store)
  await store.close()

  let status = 503
  const received: { type: string; id: string }[] = []
  const target = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString()
    received.push({ ...JSON.parse(body), status })
    response.writeHead(status).end()
  })
  target.listen(0, '127.0.0.1')
  await once(target, 'listening')
  const hook = `127.0.0.1:${(target.address() as AddressInfo).port}`

  const coordinator = new Process('shoal-coordinator', () => [
    ...['--state-dir', stateDir, '--http-port', '0'],
    ...['--outbound-allow', hook, '--outbound-allow-http', 'true'],
    ...['--webhooks-retry-first-seconds', '0.01', '--webhooks-max-attempts', '20'],
    ...['--mqtt-enabled', 'false'],
  ])
  t.teardown(async () => {
    await coordinator.end('SIGTERM')
    target.close()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  })
  const start = async (): Promise<string> => {
    coordinator.start()
    return (await coordinator.line(/"url":"(http:\/\/127\.0\.0\.1:\d+)"/))[1] ?? ''
  }
  const call = async (url: string, path: string, body: object, once = 'x') => {
    const answer = await fetch(`${url}${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${keys.operator}`,
        'content-type': 'application/json',
        'idempotency-key': once,
      },
      body: JSON.stringify(body),
    })
    t.equal(answer.status, 200)
    return {
      json: (await answer.json()) as Record<string, string>,
      replayed: answer.headers.has('idempotency-replayed'),
    }
  }

  const first = await start()
  const wanted = { url: `http://${hook}/`, types: ['shoal.gate.*'] }
  const made = await call(first, '/v1/webhooks', wanted, 'create')
  const tested = await call(first, `/v1/webhooks/${made.json.id}/test`, {}, 'test')
  await waitUntil('an event is delivered', () => received.length > 0)
  await coordinator.end('SIGKILL')
  status = 204

  const second = await start()
  const again = await call(second, '/v1/webhooks', wanted, 'create')
  t.strictSame(again, { json: made.json, replayed: true })
  const testedAgain = await call(second, `/v1/webhooks/${made.json.id}/test`, {}, 'test')
  t.strictSame(testedAgain, { json: tested.json, replayed: true })
  const arrived = await waitUntil('an event is delivered and accepted', () =>
    received.find(event => (event as unknown as { status: number }).status === 204),
  )
  t.match(arrived, { type: 'shoal.webhook.test', id: tested.json.event_id })
})
