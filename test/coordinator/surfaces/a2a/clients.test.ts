import { Role, TaskState } from '@a2a-js/sdk'
import {
  type Client,
  ClientFactory,
  ClientFactoryOptions,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from '@a2a-js/sdk/client'
import { A2AClient } from 'a2a-sdk-0-2/client'
import {
  ClientFactory as ClientFactory03,
  JsonRpcTransportFactory as JsonRpcTransportFactory03,
  RestTransportFactory as RestTransportFactory03,
} from 'a2a-sdk-0-3/client'
import t, { type Test } from 'tap'
import { type AnyJson, a2aScene, askUntil } from '../../../support/a2a.ts'
import { testSkills } from '../../../support/a2a-skills.ts'
import { startHook } from '../../../support/hook.ts'

const { skills, release } = testSkills()
const hook = await startHook(t)
const scene = await a2aScene(t, {
  moreSkills: skills,
  config: { outbound: hook.outbound },
})
t.teardown(release)
const { url, demo } = scene
const CARDS = ['/.well-known/agent.json', '/.well-known/agent-card.json']
let count = 0
const id = () => `client-${++count}`

// the clients are as they are; the key is added on the way
const plain = globalThis.fetch
globalThis.fetch = (input, init) => {
  const headers = new Headers(init?.headers)
  headers.set('authorization', `Bearer ${demo.operator}`)
  return plain(input, { ...init, headers })
}
t.teardown(() => {
  globalThis.fetch = plain
})

const events = async (source: AsyncIterable<AnyJson>): Promise<AnyJson[]> => {
  const all: AnyJson[] = []
  for await (const event of source) all.push(event)
  return all
}

const older = (skill: string, input: object) => ({
  message: {
    kind: 'message' as const,
    messageId: id(),
    role: 'user' as const,
    parts: [{ kind: 'data' as const, data: { skill, input } }],
  },
})

const newer = (skill: string, input: object, configuration?: object): AnyJson => ({
  tenant: '',
  message: {
    messageId: id(),
    role: Role.ROLE_USER,
    parts: [
      {
        content: { $case: 'data', value: { skill, input } },
        mediaType: 'application/json',
        filename: '',
        metadata: undefined,
      },
    ],
    taskId: '',
    contextId: '',
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  },
  configuration: configuration && {
    acceptedOutputModes: [],
    historyLength: undefined,
    returnImmediately: true,
    taskPushNotificationConfig: undefined,
    ...configuration,
  },
  metadata: undefined,
})

const use10 = async (t: Test, client: Client): Promise<void> => {
  const sent = (await client.sendMessage(newer('test-echo', { words: 'hi' }))) as AnyJson
  t.equal(sent.status.state, TaskState.TASK_STATE_COMPLETED)
  t.strictSame(sent.artifacts[0].parts[0].content.value, {
    ...{ said: ['hi'], cell: null, data_state: 'live', unknown: [] },
  })

  const told = await events(client.sendMessageStream(newer('test-talk', {})))
  t.equal(told[0].payload.$case, 'task')
  t.equal(told.at(-1).payload.value.status.state, TaskState.TASK_STATE_COMPLETED)

  const begun = (await client.sendMessage(newer('test-slow', {}, {}))) as AnyJson
  const again = client.resubscribeTask({ tenant: '', id: begun.id })
  const first = (await again.next()) as AnyJson
  t.equal(first.value.payload.value.id, begun.id)
  const rest = events(again)
  const ended = await client.cancelTask({ tenant: '', id: begun.id, metadata: undefined })
  t.equal(ended.status?.state, TaskState.TASK_STATE_CANCELED)
  t.equal((await rest).at(-1).payload.value.status.state, TaskState.TASK_STATE_CANCELED)
  await t.rejects(client.cancelTask({ tenant: '', id: sent.id, metadata: undefined }), {
    name: 'TaskNotCancelableError',
  })
  await t.rejects(client.getTask({ tenant: '', id: 'none', historyLength: undefined }), {
    name: 'TaskNotFoundError',
  })
}

for (const path of CARDS)
  for (const [name, preferred] of [
    ['JSON-RPC', 'JSONRPC'],
    ['HTTP+JSON', 'HTTP+JSON'],
  ] as const)
    t.test(`the client 1.3.0 works with the card from ${path}, over ${name}`, async t => {
      const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
        transports: [new JsonRpcTransportFactory(), new RestTransportFactory()],
        preferredTransports: [preferred],
      })
      await use10(t, await new ClientFactory(options).createFromUrl(url, path))
    })

for (const path of CARDS)
  for (const preferred of ['JSONRPC', 'HTTP+JSON'] as const)
    t.test(`the client 0.3.14 works with the card from ${path}, over ${preferred}`, async t => {
      const client = await new ClientFactory03({
        transports: [new JsonRpcTransportFactory03(), new RestTransportFactory03()],
        preferredTransports: [preferred],
      }).createFromUrl(url, path)
      const sent = (await client.sendMessage(older('test-echo', { words: 'hi' }))) as AnyJson
      t.match(sent, { kind: 'task', status: { state: 'completed' } })
      t.strictSame(sent.artifacts[0].parts[0].data, {
        ...{ said: ['hi'], cell: null, data_state: 'live', unknown: [] },
      })

      const told = await events(client.sendMessageStream(older('test-talk', {})))
      t.match(told[0], { kind: 'task', status: { state: 'submitted' } })
      t.match(told.at(-1), { kind: 'status-update', final: true, status: { state: 'completed' } })

      const configuration = { blocking: false }
      const begun = (await client.sendMessage({
        ...older('test-slow', {}),
        configuration,
      })) as AnyJson
      t.match(await client.getTask({ id: begun.id }), { id: begun.id })
      t.match(await client.cancelTask({ id: begun.id }), { status: { state: 'canceled' } })
      await t.rejects(client.cancelTask({ id: sent.id }), { name: 'TaskNotCancelableError' })
    })

for (const path of CARDS)
  t.test(`the client 0.2.5 works with the card from ${path}`, async t => {
    const client = new A2AClient(url, path)
    const sent = (await client.sendMessage(older('test-echo', { words: 'hi' }))) as AnyJson
    t.match(sent.result, { kind: 'task', status: { state: 'completed' } })
    const told = await events(client.sendMessageStream(older('test-talk', {})))
    t.match(told.at(-1), { kind: 'status-update', final: true, status: { state: 'completed' } })
    const configuration = { blocking: false, acceptedOutputModes: ['application/json'] }
    const begun = (await client.sendMessage({
      ...older('test-slow', {}),
      configuration,
    })) as AnyJson
    const ended = (await client.cancelTask({ id: begun.result.id })) as AnyJson
    t.equal(ended.result.status.state, 'canceled')
    const none = (await client.getTask({ id: 'none' })) as AnyJson
    t.equal(none.error.code, -32001)
  })

t.test('a hook registered by the client 1.3.0 gets StreamResponses, in order', async t => {
  hook.got.length = 0
  const client = await new ClientFactory().createFromUrl(url)
  const config = {
    id: 'mine',
    url: hook.url,
    token: 'a-token-that-is-long',
    tenant: '',
    taskId: '',
  }
  const begun = (await client.sendMessage(
    newer(
      'test-slow',
      {},
      { taskPushNotificationConfig: { ...config, authentication: undefined } },
    ),
  )) as AnyJson
  await client.cancelTask({ tenant: '', id: begun.id, metadata: undefined })
  const isLast = (got: AnyJson[]) =>
    got.at(-1)?.body.statusUpdate?.status.state === 'TASK_STATE_CANCELED'
  await askUntil(async () => hook.got, isLast)
  const [first] = hook.got
  t.match(first?.headers, {
    'content-type': 'application/a2a+json',
    'x-a2a-notification-token': config.token,
    'webhook-signature': /^v1,/,
  })
  t.ok(hook.got.every(({ body }) => body.statusUpdate !== undefined))
  const kept = await client.getTaskPushNotificationConfig({
    tenant: '',
    taskId: begun.id,
    id: 'mine',
  })
  t.equal(kept.token, '***long')
})

t.test('a hook registered by the client 0.3.14 gets the bare task', async t => {
  hook.got.length = 0
  const client = await new ClientFactory03().createFromUrl(url)
  const pushNotificationConfig = {
    id: 'old',
    url: hook.url,
    authentication: { schemes: ['Bearer'], credentials: 'let me in' },
  }
  const begun = (await client.sendMessage({
    ...older('test-slow', {}),
    configuration: { blocking: false, pushNotificationConfig },
  })) as AnyJson
  await client.cancelTask({ id: begun.id })
  await askUntil(
    async () => hook.got,
    got => got.at(-1)?.body.status?.state === 'canceled',
  )
  t.equal(hook.got[0]?.body.kind, 'task')
  t.equal(hook.got[0]?.headers.authorization, 'Bearer let me in')
  const kept = await client.listTaskPushNotificationConfig({ id: begun.id })
  t.match(kept, [{ pushNotificationConfig: { id: 'old', authentication: { credentials: '***' } } }])
})
