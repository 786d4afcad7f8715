import { hash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { writeRandomModel } from '../../models/gguf/random-model.ts'
import { SMALL } from '../daemon/inference/fixtures.ts'
import { startStack } from '../support/stack.ts'
import { waitUntil } from '../support/wait-until.ts'

/* The life of models on a real cell: on demand, by an operator, and back. */

type Json = Record<string, unknown>

const folder = mkdtempSync(join(tmpdir(), 'shoal-models-'))
const weights = (name: string, seed: number): string => {
  const path = join(folder, name)
  writeRandomModel(path, { ...SMALL, seed })
  return path
}
const here = weights('here.gguf', 1)
const pinned = weights('pinned.gguf', 2)
const remote = readFileSync(weights('remote.gguf', 3))

/** A hub with one file. */
const asked: string[] = []
const hub = createServer((request, response) => {
  asked.push(request.url ?? '')
  response.setHeader('etag', '"one"').end(remote)
})
await new Promise<void>(resolve => hub.listen(0, '127.0.0.1', resolve))

const entry = { kind: 'chat', minimum_tier: 'free', context_length: 512 }
const stack = await startStack({
  catalogue: [
    { id: 'here:1b', weights: here, ...entry },
    { id: 'pinned:1b', weights: pinned, ...entry },
    {
      id: 'remote/x:1b',
      weights: 'hf:acme/tiny/x.gguf@v1',
      sha256: hash('sha256', remote),
      ...entry,
    },
  ],
  inference: {
    preload: false,
    gpu: 'off',
    threads: 1,
    slots: 2,
    idle_unload_minutes: 0.02,
    hub_url: `http://127.0.0.1:${(hub.address() as AddressInfo).port}`,
  },
})
t.teardown(async () => {
  await stack.stop()
  hub.closeAllConnections()
  hub.close()
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
})

const ask = async (method: string, path: string, body?: object) => {
  const response = await fetch(`${stack.url}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${stack.keys.operator}`,
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
  })
  return { status: response.status, body: (await response.json()) as Json }
}
const { body: list } = await ask('GET', '/v1/cells')
const cellId = String((list.cells as Json[])[0]?.id)
const act = (model: string, what: string, cell = cellId) =>
  ask('POST', `/v1/cells/${cell}/models/${encodeURIComponent(model)}/${what}`)

const engineOf = async (model: string): Promise<Json> => {
  const { body } = await ask('GET', `/v1/cells/${cellId}`)
  const engines = (body.engines ?? []) as Json[]
  return engines.find(each => (each.models as string[]).includes(model)) ?? {}
}
const waitForEngine = (model: string, isRight: (engine: Json) => boolean): Promise<Json> =>
  waitUntil(`the engine of ${model} is as the test needs it`, async () => {
    const engine = await engineOf(model)
    return isRight(engine) && engine
  })
/** Waits until the daemon has logged a message about some weights so often since its start. */
const waitForLog = (file: string, message: string, times: number): Promise<boolean> =>
  waitUntil(`${message} is logged of ${file}`, () => count(file, message) >= times)
const count = (file: string, message: string): number => {
  const isIt = (line: string) => line.includes(`${file}"`) && line.includes(message)
  return stack.cells[0]?.lines.filter(isIt).length ?? 0
}
const chat = (model: string) =>
  ask('POST', '/v1/chat/completions', {
    model,
    messages: [{ role: 'user', content: 'hi' }],
    max_tokens: 2,
  })

t.test('an idle service is healthy because every model can be loaded', async t => {
  const health = await stack.waitForHealth(({ status }) => status === 'ok')
  t.match(health, { status: 'ok', cells: 1, models: 0 })
  t.match(await waitForEngine('here:1b', ({ memory_bytes }) => memory_bytes !== undefined), {
    state: 'cold',
    pinned: false,
  })
})

t.test('a request loads its model, which is unloaded when it is idle', async t => {
  const { status, body } = await chat('here:1b')
  t.match([status, body], [200, { usage: { completion_tokens: 2 } }])
  await waitForLog(here, 'engine unloaded', 1)
  await waitForEngine('here:1b', ({ state }) => state === 'cold')
  t.equal((await chat('here:1b')).status, 200, 'and comes back')
})

t.test('an operator loads a model that has to be fetched', async t => {
  const { status, body } = await act('remote/x:1b', 'load')
  t.match([status, body], [200, { cell_id: cellId, model: 'remote/x:1b', pinned: false }])
  t.match(body.state, /^(loading|ready)$/)
  await waitForLog('x.gguf@v1', 'engine ready', 1)
  t.strictSame(asked, ['/acme/tiny/resolve/v1/x.gguf'])
  t.strictSame(readdirSync(join(stack.folder, 'cell-0', 'models')), [
    `sha256-${hash('sha256', remote)}.gguf`,
  ])
})

t.test('a pinned model stays, and a pin survives a restart of the cell', async t => {
  t.match((await act('pinned:1b', 'pin')).body, { pinned: true, state: /^(loading|ready)$/ })
  await waitForEngine('pinned:1b', ({ state }) => state === 'ready')
  const loads = count(here, 'engine ready')
  await waitForLog(here, 'engine unloaded', loads)
  await act('here:1b', 'load')
  await waitForLog(here, 'engine ready', loads + 1)
  await waitForLog(here, 'engine unloaded', loads + 1)
  t.match(await engineOf('pinned:1b'), { state: 'ready', pinned: true, restarts: 0 })
  t.match(await act('pinned:1b', 'unload'), {
    status: 409,
    body: { error: { code: 'conflict', message: 'pinned:1b is pinned; unpin it first' } },
  })
  const [cell] = stack.cells
  await cell?.end('SIGKILL')
  cell?.start()
  await cell?.line(/"msg":"engine ready"/)
  t.match(await waitForEngine('pinned:1b', ({ state }) => state === 'ready'), { pinned: true })
})

t.test('a crash of the coordinator unloads nothing', async t => {
  const before = count(pinned, 'engine ready')
  await stack.coordinator.end('SIGKILL')
  stack.coordinator.start()
  await stack.waitForHealth(({ cells, models }) => cells === 1 && models === 1)
  t.match(await engineOf('pinned:1b'), { state: 'ready', restarts: 0 })
  t.equal(count(pinned, 'engine ready'), before)
  t.equal(count(pinned, 'engine unloaded'), 0)
})

t.test('an operator can unload an unpinned model at once', async t => {
  t.match((await act('pinned:1b', 'unpin')).body, { pinned: false })
  t.match(await act('pinned:1b', 'unload'), { status: 200, body: { state: 'cold' } })
  t.match(await act('pinned:1b', 'unload'), { status: 200, body: { state: 'cold' } })
})

t.test('an unknown model or cell is reported', async t => {
  t.match(await act('absent:1b', 'load'), {
    status: 404,
    body: { error: { code: 'model_not_found', param: 'model' } },
  })
  t.match(await act('here:1b', 'load', 'cell_00000000000000000000000000'), {
    status: 404,
    body: { error: { code: 'not_found' } },
  })
})

t.test('every action is a command that can be looked up', async t => {
  const { body } = await ask('GET', `/v1/commands?cell_id=${cellId}&limit=50`)
  const verbs = (body.commands as Json[]).map(({ verb, state }) => `${verb} ${state}`)
  t.ok(verbs.includes('model-pin succeeded'))
  t.ok(verbs.includes('model-unload failed'))
})
