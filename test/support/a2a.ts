import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import type { A2aParts } from '../../coordinator/a2a/a2a-routes.ts'
import { hookAccess } from '../../coordinator/a2a/push/hook-access.ts'
import type { AppParts } from '../../coordinator/assembly/app.ts'
import { openOutward } from '../../coordinator/assembly/outward.ts'
import { openTaskPlane } from '../../coordinator/assembly/task-plane.ts'
import { createEvents } from '../../coordinator/events/bus.ts'
import { shippedGates } from '../../coordinator/gates/definition.ts'
import { createGates } from '../../coordinator/gates/gates.ts'
import { configuredPolicy, openPolicies } from '../../coordinator/gates/policies.ts'
import { bootstrap } from '../../coordinator/keys/bootstrap.ts'
import { createKeys } from '../../coordinator/keys/keys.ts'
import { createQueueFigures } from '../../coordinator/metrics/queue-figures.ts'
import type { Views } from '../../coordinator/operations/context.ts'
import { operations } from '../../coordinator/operations/index.ts'
import { taskReaders } from '../../coordinator/operations/task-readers.ts'
import { createPerson } from '../../coordinator/people/people.ts'
import { createTenant } from '../../coordinator/people/tenants.ts'
import { skills } from '../../coordinator/skills/index.ts'
import type { Skill } from '../../coordinator/skills/skill.ts'
import type { Store } from '../../coordinator/store/store.ts'
import { createSigner, generatePrivateKey } from '../../shared/signing.ts'
import { BY, temporaryFolder, temporaryStore } from '../coordinator/store/temporary.ts'
import { appWith, config, views } from './app.ts'
import { silent } from './cell.ts'

export interface SceneOptions {
  /** Beside the product's. */
  moreSkills?: readonly Skill[]
  fixture?: A2aParts['fixture']
  config?: object
  /** An empty store; one of its own by default. */
  store?: Store
  /** A store that was there before, with its people. */
  from?: { store: Store; demo: Demo }
  views?: Partial<Views>
  parts?: Partial<AppParts>
}

type Demo = Awaited<ReturnType<typeof bootstrap>>['keys'] & { stranger: string }

/** The server with its A2A bindings on a port, over a real store with the demo people. */
export const a2aScene = async (t: Pick<Test, 'teardown'>, options: SceneOptions = {}) => {
  const store = options.from?.store ?? options.store ?? (await temporaryStore(t))
  const now = () => Date.now()
  const keys = createKeys({ store, logger: silent, now })
  const demo = options.from?.demo ?? (await populate(store, keys))
  const events = createEvents({ source: '/test', logger: silent })
  const shipped = shippedGates()
  const policies = await openPolicies({
    ...{ store, gates: shipped, publish: events.publish, logger: silent },
    configured: configuredPolicy(undefined, shipped),
  })
  const gates = createGates({
    ...{ store, now, definitions: policies.current().gates },
    requireCurrent: policies.requireCurrent,
    signer: createSigner(generatePrivateKey()),
    publish: events.publish,
  })
  const { moreSkills = [] } = options
  const settings = config({ state_dir: await temporaryFolder(t), ...options.config })
  const outward = await openOutward({
    ...{ config: settings, store, events, now, logger: silent },
    figures: createQueueFigures(),
    isSeen: hookAccess({
      ...{ ledger: store.ledger, keys },
      readerOf: taskReaders([...operations, ...skills, ...moreSkills]),
    }),
  })
  const plane = openTaskPlane({
    ...{ config: settings, store, events, outward, now, logger: silent },
    operations: [...operations, ...skills, ...moreSkills],
    views: () => seen,
  })
  const seen = views({
    ...{ store, keys, gates, policies, now, tasks: plane.taskViews },
    listens: { loopbackOnly: true, encrypted: false },
    queue: outward.queue,
    auditDays: 400,
    auditHead: () => undefined,
    declarations: {},
    ...options.views,
  })
  const app = await appWith({
    ...{ config: settings, keys, views: seen, moreSkills, events },
    a2a: { ...plane.a2a, ...(options.fixture && { fixture: options.fixture }) },
    ...options.parts,
  })
  await plane.recover()
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  let closed = false
  /** Stops as the product does; the store stays. */
  const close = async (): Promise<void> => {
    if (closed) return
    closed = true
    await plane.close()
    await app.close()
    await outward.close()
    keys.close()
    policies.close()
  }
  t.teardown(close)
  return { url, app, demo, store, events, gates, keys, outward, tasks: plane.a2a.tasks, close }
}

/** The demo people, and an operator of another tenant. */
const populate = async (store: Store, keys: ReturnType<typeof createKeys>): Promise<Demo> => {
  const { keys: demo } = await bootstrap(store)
  await createTenant(store.ledger, { id: 'other', name: 'other' }, BY)
  await createPerson(store.ledger, { id: 'eve', tenantId: 'other', name: 'eve' }, BY)
  const spec = { tenantId: 'other', personId: 'eve', tier: 'enterprise' as const }
  const stranger = await keys.create({ ...spec, roles: ['client', 'operator_admin'] }, BY)
  return { ...demo, stranger: stranger.secret }
}

/** Requests with one key. */
export const caller = (
  url: string,
  key: string | undefined,
  headers: Record<string, string> = {},
) => {
  const own = {
    ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    'content-type': 'application/json',
    ...headers,
  }
  const raw = (path: string, body?: unknown, method?: string): Promise<Response> =>
    fetch(`${url}${path}`, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers: own,
      ...(body === undefined
        ? {}
        : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
  const json = async (path: string, body?: unknown, method?: string): Promise<Answer> => {
    const response = await raw(path, body, method)
    const text = await response.text()
    return { status: response.status, headers: response.headers, json: text && JSON.parse(text) }
  }
  let next = 0
  const rpc = async (method: string, params: object, path = '/a2a') =>
    (await json(path, { jsonrpc: '2.0', id: ++next, method, params })).json
  /** Events of a streaming call, in JSON-RPC or without. */
  async function* events(path: string, body?: unknown): AsyncGenerator<Json> {
    const response = await raw(path, body)
    const type = response.headers.get('content-type') ?? ''
    if (!type.startsWith('text/event-stream')) throw new Error(await response.text())
    let rest = ''
    for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) {
      rest += Buffer.from(piece).toString()
      const blocks = rest.split('\n\n')
      rest = blocks.pop() ?? ''
      for (const block of blocks)
        for (const line of block.split('\n'))
          if (line.startsWith('data: ')) yield JSON.parse(line.slice(6))
    }
  }
  const stream = (method: string, params: object) =>
    events('/a2a', { jsonrpc: '2.0', id: ++next, method, params })
  return { raw, json, rpc, events, stream }
}

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into by the tests
export type Json = any

export interface Answer {
  status: number
  headers: Headers
  json: Json
}

let messages = 0

/** A message of A2A 1.0 with one part. */
export const message = (part: object, more: object = {}) => ({
  messageId: `message-${process.pid}-${++messages}`,
  role: 'ROLE_USER',
  parts: [part],
  ...more,
})

/** Asks again until the answer is right: for what happens by itself. */
export const until = async <T>(
  ask: () => Promise<T>,
  isRight: (answer: T) => boolean,
): Promise<T> => {
  for (;;) {
    const answer = await ask()
    if (isRight(answer)) return answer
    await new Promise(done => setTimeout(done, 20))
  }
}
