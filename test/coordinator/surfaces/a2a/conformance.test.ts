import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { AgentCard } from '@a2a-js/sdk'
import t from 'tap'
import { type AnyJson, caller } from '../../../support/a2a.ts'
import { startHook } from '../../../support/hook.ts'
import { waitUntil } from '../../../support/wait-until.ts'

/* The cases of the public kits, in our own words, against the server that they are run on. */

const script = join(resolve(import.meta.dirname, '..', '..', '..'), 'conformance', 'a2a.ts')
const temporary = t.testdir()
const folders = () => readdirSync(temporary).filter(name => name.startsWith('shoal-conformance-'))
const hook = await startHook(t)
const args = [script, '--hook', `127.0.0.1:${hook.port}`]
const env = { ...process.env, TMPDIR: temporary }
const server = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] })
const [url] = (await once(createInterface({ input: server.stdout }), 'line')) as [string]
const own = folders()
t.teardown(() => void server.kill('SIGKILL'))

const rpc1 = caller(url, undefined, { 'a2a-version': '1.0' })
const rest1 = caller(`${url}/a2a/rest`, undefined, { 'a2a-version': '1.0' })
const rpc03 = caller(url, undefined)

let count = 0
const createMessageId = (prefix: string) => `${prefix}-${process.pid}-${++count}`
const newer = (prefix: string, more: object = {}) => ({
  message: {
    messageId: createMessageId(prefix),
    role: 'ROLE_USER',
    parts: [{ text: 'hi' }],
    ...more,
  },
})
const older = (prefix: string, more: object = {}) => ({
  message: {
    kind: 'message',
    messageId: createMessageId(prefix),
    role: 'user',
    parts: [{ kind: 'text', text: 'hi' }],
    ...more,
  },
})

/** One way to speak 1.0. */
interface Binding {
  send(params: object): Promise<AnyJson>
  get(id: string): Promise<AnyJson>
  cancel(id: string): Promise<AnyJson>
  stream(params: object): AsyncGenerator<AnyJson>
  subscribe(id: string): AsyncGenerator<AnyJson>
}

const unwrapResults = async function* (events: AsyncGenerator<AnyJson>) {
  for await (const { result } of events) yield result
}
const bindings: Record<string, Binding> = {
  'JSON-RPC': {
    send: async params => (await rpc1.rpc('SendMessage', params)).result,
    get: async id => (await rpc1.rpc('GetTask', { id })).result,
    cancel: async id => (await rpc1.rpc('CancelTask', { id })).result,
    stream: params => unwrapResults(rpc1.stream('SendStreamingMessage', params)),
    subscribe: id => unwrapResults(rpc1.stream('SubscribeToTask', { id })),
  },
  'HTTP+JSON': {
    send: async params => (await rest1.json('/message:send', params)).json,
    get: async id => (await rest1.json(`/tasks/${id}`)).json,
    cancel: async id => (await rest1.json(`/tasks/${id}:cancel`, {})).json,
    stream: params => rest1.events('/message:stream', params),
    subscribe: id => rest1.events(`/tasks/${id}:subscribe`),
  },
}

for (const [name, binding] of Object.entries(bindings))
  t.test(`every message kind is accepted in 1.0 over ${name}`, async t => {
    const kinds: [string, object][] = [
      ['text', { text: 'Generated text content' }],
      ['file', { raw: Buffer.from('file content').toString('base64'), filename: 'output.txt' }],
      ['file-url', { url: 'https://example.com/output.txt' }],
      ['data', { data: { key: 'value', count: 42 } }],
    ]
    for (const [kind, part] of kinds) {
      const { task } = await binding.send(newer(`tck-artifact-${kind}`))
      t.equal(task.status.state, 'TASK_STATE_COMPLETED', kind)
      t.match(task.artifacts[0].parts[0], part, kind)
      t.match(task.artifacts[0].artifactId, /./)
    }
    const { task: done } = await binding.send(newer('tck-complete-task'))
    t.equal(done.status.state, 'TASK_STATE_COMPLETED')
    t.match(done.status.timestamp, /^\d{4}-\d\d-\d\dT.*Z$/)
    t.equal((await binding.get(done.id)).id, done.id)
    const { task: no } = await binding.send(newer('tck-reject-task'))
    t.equal(no.status.state, 'TASK_STATE_REJECTED')
    const { message } = await binding.send(newer('tck-message-response'))
    t.match(message, { role: 'ROLE_AGENT', parts: [{ text: 'Direct message response' }] })

    const { task: asked } = await binding.send(newer('tck-input-required'))
    t.equal(asked.status.state, 'TASK_STATE_INPUT_REQUIRED')
    const more = await binding.send(newer('tck-input-required', { taskId: asked.id }))
    t.equal(more.task.status.state, 'TASK_STATE_INPUT_REQUIRED')
    const went = await binding.send(newer('tck-complete-task', { taskId: asked.id }))
    t.equal(went.task.id, asked.id)
    t.equal(went.task.contextId, asked.contextId)
    t.equal(went.task.status.state, 'TASK_STATE_COMPLETED')

    const reused = newer('tck-complete-task')
    const { task: one } = await binding.send(reused)
    const { task: two } = await binding.send(reused)
    t.not(one.id, two.id, 'the kits name every message alike')

    const { task: open } = await binding.send(
      newer('anything', { contextId: createMessageId('ctx') }),
    )
    t.equal((await binding.cancel(open.id)).status.state, 'TASK_STATE_CANCELED')

    for (const kind of ['001', '002', '003', 'ordering-001', 'artifact-text', 'artifact-file']) {
      const all: AnyJson[] = []
      for await (const event of binding.stream(newer(`tck-stream-${kind}`))) all.push(event)
      t.ok(all[0].task, `${kind} begins with the task`)
      t.ok(
        all.slice(1).every(event => event.statusUpdate ?? event.artifactUpdate),
        kind,
      )
      t.equal(all.at(-1).statusUpdate.status.state, 'TASK_STATE_COMPLETED', kind)
    }
    const pieces: AnyJson[] = []
    for await (const { artifactUpdate } of binding.stream(newer('tck-stream-artifact-chunked')))
      if (artifactUpdate !== undefined) pieces.push(artifactUpdate)
    t.strictSame(
      pieces.map(({ append, lastChunk }) => [append ?? false, lastChunk ?? false]),
      [
        [false, false],
        [true, false],
        [true, true],
      ],
    )
    const whole = await binding.get(pieces[0].taskId)
    t.equal(whole.artifacts[0].parts.length, 3)

    const streamed: AnyJson[] = []
    for await (const event of binding.stream(newer('tck-message-response'))) streamed.push(event)
    t.ok(streamed[0].message)
    t.equal(streamed.length, 1)

    const configuration = { returnImmediately: true }
    const { task: long } = await binding.send({
      ...newer('test-resubscribe-message-id'),
      configuration,
    })
    const followed: AnyJson[] = []
    for await (const event of binding.subscribe(long.id)) followed.push(event)
    t.equal(followed[0].task.id, long.id)
    t.equal(followed.at(-1).statusUpdate.status.state, 'TASK_STATE_COMPLETED')
  })

t.test('JSON-RPC of version 0.3 is supported', async t => {
  const sent = (await rpc03.rpc('message/send', older('tck-complete-task'))).result
  t.match(sent, { kind: 'task', status: { state: 'completed' }, history: [{ kind: 'message' }] })
  const open = (await rpc03.rpc('message/send', older('anything'))).result
  t.equal(open.status.state, 'input-required')
  const went = (await rpc03.rpc('message/send', older('anything', { taskId: open.id }))).result
  t.equal(went.id, open.id)
  t.equal(
    (await rpc03.rpc('tasks/get', { id: open.id, historyLength: 1 })).result.history.length,
    1,
  )
  t.equal((await rpc03.rpc('tasks/cancel', { id: open.id })).result.status.state, 'canceled')
  t.equal((await rpc03.rpc('tasks/cancel', { id: sent.id })).error.code, -32002)
  const card = (await rpc03.rpc('agent/getAuthenticatedExtendedCard', {})).error
  t.equal(card?.code, -32081, 'the extended card needs a key before 1.0')
  t.equal((await rpc1.rpc('GetExtendedAgentCard', {})).result?.name, 'shoal')
  t.equal((await rpc03.rpc('tasks/get', { id: 'none' })).error.code, -32001)
  t.equal((await rpc03.rpc('tasks/get', {})).error.code, -32602)
  t.equal((await rpc03.rpc('tasks/nothing', {})).error.code, -32601)
  t.equal((await rpc03.rpc('message/send', older('x', { taskId: 'none' }))).error.code, -32001)
  const all: AnyJson[] = []
  for await (const { result } of rpc03.stream('message/stream', older('tck-stream-001')))
    all.push(result)
  t.match(all.at(-1), { kind: 'status-update', final: true, status: { state: 'completed' } })
  const spoken = (await rpc03.rpc('message/send', older('tck-message-response'))).result
  t.match(spoken, { kind: 'message', role: 'agent' })
})

t.test('webhooks on loopback receive the task updates', async t => {
  const { task } = (await rpc1.rpc('SendMessage', newer('anything'))).result
  const made = await rpc1.rpc('CreateTaskPushNotificationConfig', {
    taskId: task.id,
    id: 'hook',
    url: hook.url,
  })
  t.equal(made.result.id, 'hook')
  t.equal(
    (await rpc1.rpc('ListTaskPushNotificationConfigs', { taskId: task.id })).result.configs.length,
    1,
  )
  await rpc1.rpc('CancelTask', { id: task.id })
  await waitUntil('the hook is called', () => hook.got.length > 0)
  t.equal(hook.got[0]?.body.statusUpdate.status.state, 'TASK_STATE_CANCELED')
  const gone = await rpc1.rpc('DeleteTaskPushNotificationConfig', { taskId: task.id, id: 'hook' })
  t.equal(gone.result, null)
  t.ok((await rpc1.rpc('GetTaskPushNotificationConfig', { taskId: task.id, id: 'hook' })).error)
})

t.test('the card is in version 1.0 only, and its own codec loses nothing of it', async t => {
  const { json, headers } = await rpc03.json('/.well-known/agent-card.json')
  const read = AgentCard.toJSON(AgentCard.fromJSON(json)) as AnyJson
  const keys = (value: object) => Object.keys(value).toSorted()
  t.strictSame(keys(read), keys(json))
  t.strictSame(keys(read.capabilities), keys(json.capabilities))
  t.strictSame(read.skills, json.skills)
  t.strictSame(read.supportedInterfaces, json.supportedInterfaces)
  t.match(headers.get('last-modified'), /GMT$/)
  t.match(headers.get('vary'), /A2A-Version/)
})

t.test('SIGINT stops the server and leaves nothing behind', async t => {
  const exit = once(server, 'exit')
  server.kill('SIGINT')
  t.strictSame(await exit, [0, null])
  t.equal(own.length, 1)
  t.strictSame(folders(), [])
})
