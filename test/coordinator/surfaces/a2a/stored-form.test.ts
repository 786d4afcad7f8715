import { createHash } from 'node:crypto'
import { Message, Task, type TaskPushNotificationConfig, TaskState } from '@a2a-js/sdk'
import { ServerCallContext } from '@a2a-js/sdk/server'
import { DatabasePushNotificationStore, DatabaseTaskStore } from '@a2a-js/sdk/server/database'
import t from 'tap'
import { findAcceptedTask } from '../../../../coordinator/calls/tasks/claim.ts'
import { postMail, readMail } from '../../../../coordinator/calls/tasks/mailbox.ts'
import { listTasks } from '../../../../coordinator/calls/tasks/task-pages.ts'
import { OWNER, readTask, saveTask } from '../../../../coordinator/calls/tasks/task-rows.ts'
import {
  messageFromA2a,
  taskToA2a,
  webhookToA2a,
} from '../../../../coordinator/surfaces/a2a/a2a-shapes.ts'
import { createPushConfigs } from '../../../../coordinator/surfaces/a2a/push/push-configs.ts'
import { HOME } from '../../calls/tasks/fixtures.ts'
import { temporaryStore } from '../../kernel/store/temporary.ts'

/*
 * The stores of A2A's library wrote the rows of tasks and of their webhooks before the coordinator
 * did, and a coordinator of that time may share the store: each must read what the other wrote.
 */

const CONTEXT = new ServerCallContext({ tenant: 'home', requestedVersion: '1.0' })
const ownerResolver = () => OWNER

const MESSAGE = Message.fromJSON({
  messageId: 'm',
  contextId: 'ctx',
  taskId: 'task',
  role: 'ROLE_USER',
  parts: [
    { text: 'a', mediaType: 'text/plain', metadata: { b: [1] } },
    { raw: Buffer.from([0, 255]).toString('base64'), filename: 'x.bin' },
    { url: 'https://example.com/x' },
    { data: { c: null } },
    // the null of an older result, as it was written again
    { mediaType: 'application/json' },
  ],
  metadata: { z: 1, a: { d: 2 } },
  extensions: ['urn:x'],
  referenceTaskIds: ['before'],
})

const taskIn = (state: TaskState, id: string): Task =>
  Task.fromJSON({
    id,
    contextId: 'ctx',
    status: { state, timestamp: '2026-01-02T03:04:05.678Z', message: Message.toJSON(MESSAGE) },
    artifacts: [
      { artifactId: 'a', name: 'result', parts: [{ data: 1 }], metadata: { skill: 'x' } },
      { artifactId: 'b', description: 'no parts yet' },
    ],
    history: [Message.toJSON(MESSAGE), { messageId: 'n', role: 'ROLE_AGENT' }],
    metadata: { skill: 'x' },
  })

const STATES = Object.values(TaskState).filter(
  (state): state is TaskState => typeof state === 'number' && state > 0,
)

t.test('tasks are read as the library stored them, and stored as it reads them', async t => {
  const { ledger } = await temporaryStore(t)
  t.equal(STATES.length, 8)
  await ledger.sealed.write(async trx => {
    const store = new DatabaseTaskStore(trx, { tableName: 'a2a_tasks', ownerResolver })
    for (const state of STATES) {
      const given = taskIn(state, `task${state}`)
      await store.save(given, CONTEXT)
      const task = await readTask(trx, given.id, 'home')
      t.strictSame(taskToA2a(task), given)
      await saveTask(trx, { ...task, id: 'copy' }, 'home')
      t.strictSame(await store.load('copy', CONTEXT), { ...given, id: 'copy' })
    }
  })
})

t.test('a list goes on from the cursor of a page that the library listed', async t => {
  const { ledger } = await temporaryStore(t)
  await ledger.sealed.write(async trx => {
    const store = new DatabaseTaskStore(trx, { tableName: 'a2a_tasks', ownerResolver })
    const run = { key_id: 'key', tenant_id: 'home', request_id: 'r', input_json: '{}' }
    for (const id of ['a', 'b', 'c']) {
      await store.save(taskIn(TaskState.TASK_STATE_WORKING, id), CONTEXT)
      const row = { ...run, task_id: id, audited: 0, created_at: 0 }
      await trx
        .insertInto('task_runs')
        .values(row as never)
        .execute()
    }
    const request = { tenant: '', contextId: '', status: 0, pageSize: 2 }
    const rest = { pageToken: '', statusTimestampAfter: undefined }
    const { nextPageToken: cursor } = await store.list({ ...request, ...rest }, CONTEXT)
    const page = await listTasks(trx, { limit: 2, cursor }, HOME)
    t.strictSame(
      page.tasks.map(({ id }) => id),
      ['a'],
    )
    t.equal((await listTasks(trx, { limit: 2 }, HOME)).next, cursor)
    for (const bad of ['x', 'eHx5'])
      await t.rejects(listTasks(trx, { limit: 2, cursor: bad }, HOME), { code: 'invalid_request' })
  })
})

t.test('a message that was accepted before is known by the digest of its stored form', async t => {
  const { ledger } = await temporaryStore(t)
  const message = messageFromA2a(MESSAGE)
  const digest = createHash('sha256')
    .update(JSON.stringify(Message.toJSON(MESSAGE)))
    .digest('hex')
  await ledger.sealed.write(async trx => {
    const row = { key_id: 'key', message_id: 'm', task_id: 'task', digest }
    await trx.insertInto('task_messages').values(row).execute()
    t.equal(await findAcceptedTask(trx, 'key', message), 'task')
    const other = { ...message, parts: message.parts.slice(1) }
    await t.rejects(findAcceptedTask(trx, 'key', other), { code: 'invalid_request' })
  })
})

t.test('mail has the form that coordinators before the own type of a message read', async t => {
  const { ledger } = await temporaryStore(t)
  const run = { operationId: 'x', input: { a: 1 }, audited: true, keyId: 'key', requestId: 'r' }
  const mail = {
    taskId: 'task',
    tenantId: 'home',
    kind: 'message',
    actor: 'key:key',
    body: { message: messageFromA2a(MESSAGE), run },
  } as const
  await ledger.sealed.write(async trx => {
    await postMail(trx, mail, 1)
    const row = await trx.selectFrom('task_mail').select('body_json').executeTakeFirstOrThrow()
    t.equal(row.body_json, JSON.stringify({ message: Message.toJSON(MESSAGE), run }))
    t.match(await readMail(trx, 'task'), [mail])
  })
})

t.test('webhooks are read as the library stored them, and stored as it reads them', async t => {
  const { ledger } = await temporaryStore(t)
  const plain = (secret: string): string => secret
  const configs = createPushConfigs({
    ledger,
    sealing: { seal: plain, open: plain } as never,
    sender: { judge: () => ({}) as never },
  })
  const options = { tableName: 'a2a_push_configs', ownerResolver } as const
  const given: TaskPushNotificationConfig[] = [
    {
      id: 'a',
      taskId: 'task',
      tenant: 'home',
      url: 'https://x.com/',
      token: '',
      authentication: undefined,
    },
    {
      id: 'b',
      taskId: 'task',
      tenant: 'home',
      url: 'https://x.com/',
      token: 't',
      authentication: { scheme: 'Bearer', credentials: 'c' },
    },
  ]
  await ledger.sealed.write(async trx => {
    const store = new DatabasePushNotificationStore(trx, options)
    for (const config of given) await store.save('task', CONTEXT, { ...config })
  })
  const read = await configs.listWithSecrets('task', 'home')
  t.strictSame(
    read.map(webhook => webhookToA2a(webhook, 'home')),
    given,
  )
  for (const webhook of read) await configs.save('home', webhook, '0.3', 'key')
  const store = new DatabasePushNotificationStore(ledger.read, options)
  t.strictSame(
    await store.loadWithMetadata('task', CONTEXT),
    given.map(config => ({ config, wireVersion: '0.3' })),
  )
})
