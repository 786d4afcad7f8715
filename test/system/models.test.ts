import { hash } from 'node:crypto'
import {
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { writeRandomModel } from '../../models/gguf/random-model.ts'
import { SMALL } from '../daemon/inference/fixtures.ts'
import { HUB_COMMIT, startHub } from '../daemon/inference/hub.ts'
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

const own = weights('own.gguf', 4)
const fromHub = readFileSync(weights('from-hub.gguf', 5))
const hub = await startHub(t, {
  'acme/tiny/v1/x.gguf': { content: remote },
  [`acme/own/${HUB_COMMIT}/own-Q8_0.gguf`]: { content: fromHub },
  'acme/renamed/main/own-Q8_0.gguf': { content: fromHub, movedTo: 'acme/own' },
  'acme/moved/main/x.gguf': { content: fromHub, movedTo: 'http://127.0.0.2:1/acme/own' },
  'acme/circle/main/x.gguf': { content: fromHub, movedTo: 'acme/circle' },
})

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
    hub_url: hub.url,
  },
  settings: { upstreams: { sources: { hf: { url: hub.url } } } },
  env: { SHOAL_EGRESS: 'on' },
})
t.teardown(async () => {
  await stack.stop()
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
  t.strictSame(
    hub.requests.map(({ url }) => url),
    ['/acme/tiny/resolve/v1/x.gguf'],
  )
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

const add = (input: object) => ask('POST', '/v1/catalogue', input)
const show = async (model: string): Promise<Json> =>
  (await ask('GET', `/v1/catalogue/${encodeURIComponent(model)}`)).body
const folderOfModels = () => readdirSync(join(stack.folder, 'cell-0', 'models')).toSorted()
const standingOf = (model: string, isRight: (cell: Json) => boolean): Promise<Json> =>
  waitUntil(`${model} is as the test needs it`, async () => {
    const [cell] = ((await show(model)).cells ?? []) as Json[]
    return cell !== undefined && isRight(cell) && cell
  })

t.test('a file of the cell that an operator adds answers at once, also by another id', async t => {
  t.equal((await chat('own:1b')).status, 404)
  const added = await add({ model: 'own:1b', path: own, context_length: 512 })
  t.match(added, { status: 201, body: { id: 'own:1b', origin: 'added', weights: own } })
  t.equal((await chat('own:1b')).status, 200)
  const alias = await ask('PUT', '/v1/catalogue/gpt-4o/alias', { model: 'own:1b' })
  t.match(alias, { status: 200, body: { alias_of: 'own:1b', minimum_tier: 'free' } })
  t.match(await chat('gpt-4o'), { status: 200, body: { model: 'gpt-4o' } })
  t.match(await show('own:1b'), {
    aliases: ['gpt-4o'],
    file: { architecture: 'llama', kind: 'chat', parameters: Number, chat_template: null },
    cells: [{ cell_id: cellId, memory_bytes: Number, file_bytes: Number }],
  })
  t.match(await ask('POST', '/api/show', { model: 'gpt-4o' }), {
    status: 200,
    body: {
      details: { family: 'llama', parameter_size: /^\d+\.\d[KM]$/, quantization_level: /\w/ },
      model_info: { 'general.architecture': 'llama', 'llama.context_length': Number },
    },
  })
  const { body } = await ask('GET', '/v1/models')
  t.ok((body.data as Json[]).some(({ id }) => id === 'gpt-4o'))
})

t.test('added models outlive a restart of the cell and of the coordinator', async t => {
  const [cell] = stack.cells
  await Promise.all([cell?.end('SIGKILL'), stack.coordinator.end('SIGKILL')])
  cell?.start()
  stack.coordinator.start()
  await stack.waitForHealth(({ cells }) => cells === 1)
  await standingOf('gpt-4o', ({ state }) => state !== null)
  t.equal((await chat('gpt-4o')).status, 200)
})

t.test(
  'a file of the hub is pinned to its commit, pulled, and kept when its model comes back',
  async t => {
    const before = folderOfModels()
    const named = { model: 'hub/own', source: 'hf:acme/renamed/own-Q8_0.gguf' }
    const { status, body } = await add(named)
    const sha256 = hash('sha256', fromHub)
    const weights = `hf:acme/own/own-Q8_0.gguf@${HUB_COMMIT}`
    t.match([status, body], [201, { sha256, weights }], 'under the present name of the repository')
    await standingOf('hub/own', ({ state }) => state !== null)
    t.match(await ask('POST', '/v1/catalogue/hub%2Fown/pull', {}), { status: 200 })
    await standingOf('hub/own', ({ file_bytes }) => file_bytes === fromHub.length)
    t.strictSame(folderOfModels(), [...before, `sha256-${sha256}.gguf`].toSorted())
    t.match(await ask('DELETE', '/v1/catalogue/hub%2Fown'), {
      status: 200,
      body: { removed: true },
    })
    t.match(await ask('GET', '/v1/catalogue/hub%2Fown'), { status: 404 })
    await waitUntil(
      'the cell has ended it',
      async () => (await engineOf('hub/own')).state === undefined,
    )
    const requests = hub.storage.requests.length
    await add({ model: 'hub/own', source: 'hf:acme/own/own-Q8_0.gguf' })
    await standingOf('hub/own', ({ file_bytes }) => file_bytes === fromHub.length)
    t.equal((await chat('hub/own')).status, 200)
    t.equal(hub.storage.requests.length, requests, 'it is not downloaded again')
    t.match(await ask('DELETE', '/v1/catalogue/hub%2Fown'), { status: 200 })
    const { body: audit } = await ask('GET', '/v1/audit?limit=200')
    const actions = (audit.rows as Json[]).map(({ action, subject }) => `${action} ${subject}`)
    for (const change of ['add own:1b', 'alias gpt-4o', 'add hub/own', 'remove hub/own'])
      t.ok(actions.includes(`model.${change}`), change)
  },
)

t.test('a model that cannot be is refused with the remedy', async t => {
  const free = { model: 'new:1b' }
  for (const [input, status, message] of [
    [{ model: 'here:1b', path: own }, 409, /of the configuration/],
    [{ model: 'own:1b', path: own }, 409, /shoal models remove own:1b/],
    [{ ...free, path: 'own.gguf' }, 422, /must be absolute/],
    [{ ...free }, 422, /name one source/],
    [{ model: 'auto', path: own }, 422, /auto is reserved/],
    [{ ...free, source: 'llama3.2:3b' }, 422, /shoal models search llama3.2 finds/],
    [{ ...free, source: 'acme/own/x.gguf@v1' }, 422, /did you mean hf:acme\/own\/x.gguf@v1\?/],
    [{ ...free, source: 'acme/own' }, 422, /shoal models search acme\/own lists the files/],
    [{ ...free, source: 'hf:acme/own/other.gguf' }, 422, /it has own-Q8_0.gguf/],
    [{ ...free, source: 'hf:acme/absent/x.gguf' }, 422, /wants a token/],
    [{ ...free, source: 'hf:acme/moved/x.gguf' }, 503, /redirected to another host, which is not/],
    [{ ...free, source: 'hf:acme/circle/x.gguf' }, 503, /redirected more than 3 times/],
    [{ ...free, source: 'https://models.example/x.gguf' }, 422, /--sha256, or --unchecked/],
    [{ ...free, source: 'http://models.example/x.gguf' }, 422, /use https/],
    [{ ...free, path: own, on: ['cell_00000000000000000000000000'] }, 404, /no cell cell_0/],
  ] as const)
    t.match(await add(input), { status, body: { error: { message } } }, JSON.stringify(input))
  t.match(await ask('DELETE', '/v1/catalogue/own%3A1b'), {
    status: 409,
    body: { error: { message: 'gpt-4o stands for own:1b; remove it first' } },
  })
  t.match(await ask('DELETE', '/v1/catalogue/here%3A1b'), { status: 409 })
})

t.test('a model that no cell can open is not kept, and is no fault of the cell', async t => {
  const text = join(folder, 'text.gguf')
  writeFileSync(text, 'this is no model')
  for (const [path, message] of [
    [join(folder, 'absent.gguf'), /no cell can open it: .*absent.gguf: the file is not there$/],
    [text, /no cell can open it: .*text.gguf: it is not a GGUF file$/],
  ] as const) {
    const refused = await add({ model: 'absent:1b', path })
    t.match([refused.status, refused.body], [422, { error: { param: 'source', message } }])
    t.match(await ask('GET', '/v1/catalogue/absent%3A1b'), { status: 404 })
  }
  const { body } = await ask('GET', '/v1/audit?limit=200')
  const actions = (body.rows as Json[]).map(({ action, subject }) => `${action} ${subject}`)
  t.ok(actions.includes('model.remove absent:1b'))
})

t.test('a model that cannot be loaded any more says why in every list', async t => {
  const path = join(folder, 'moved.gguf')
  copyFileSync(own, path)
  t.match(await add({ model: 'moved:1b', path, context_length: 8192 }), {
    status: 201,
    body: { context_length: 2048 },
  })
  const { data } = (await ask('GET', '/v1/models')).body as { data: Json[] }
  t.match(
    data.find(({ id }) => id === 'moved:1b'),
    { context_length: 2048 },
    'the length in force, not the one that was asked for',
  )
  rmSync(path)
  await act('moved:1b', 'load')
  const reason = `${path}: the file is not there`
  const standing = await standingOf('moved:1b', ({ state }) => state === 'failed')
  t.match(standing, { reason, name: String, refused: true })
  const listed = await waitUntil('the list has it', async () => {
    const { models } = (await ask('GET', '/v1/catalogue')).body as { models: Json[] }
    return models.find(each => each.id === 'moved:1b' && each.reason !== null)
  })
  t.equal(listed.reason, reason)
  t.match(await ask('GET', `/v1/cells/${cellId}`), { body: { presence: 'ready' } })
  const { alerts } = (await ask('GET', '/v1/alerts')).body as { alerts: Json[] }
  t.notOk(alerts.some(({ rule }) => rule === 'engine_failed'))
  t.match(await ask('DELETE', '/v1/catalogue/moved%3A1b'), { status: 200 })
})

t.test('a cell asks no server of its own network for an added model', async t => {
  const source = `http://localhost:${new URL(hub.url).port}/x.gguf`
  const added = await add({
    model: 'inside:1b',
    source: `${source}?token=hidden`,
    unchecked: true,
  })
  t.match(added, { status: 201, body: { weights: source } })
  const { body: audit } = await ask('GET', '/v1/audit?limit=200')
  t.notMatch(JSON.stringify([await show('inside:1b'), audit]), 'hidden')
  await standingOf('inside:1b', ({ state }) => state !== null)
  const requests = hub.requests.length
  await ask('POST', '/v1/catalogue/inside%3A1b/pull', {})
  const { reason } = await standingOf('inside:1b', cell => cell.reason !== null)
  t.match(
    reason,
    /is not a server of the public internet; list localhost:\d+ in inference.download/,
  )
  t.equal(hub.requests.length, requests)
  t.match(await ask('DELETE', '/v1/catalogue/inside%3A1b'), { status: 200 })
})

t.test('the hub is searched for models, and a repository for its files', async t => {
  const file = { source: 'hf:acme/own/own-Q8_0.gguf', bytes: fromHub.length, licence: 'apache-2.0' }
  for (const name of ['own', 'renamed']) {
    const { body } = await ask('GET', `/v1/hub/models?query=acme%2F${name}`)
    t.match(body, { models: [], files: [file] }, name)
  }
})
