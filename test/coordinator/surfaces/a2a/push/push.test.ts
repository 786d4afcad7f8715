import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import type { OpenPart } from '../../../../../coordinator/kernel/base/open-all.ts'
import { Outbound } from '../../../../../coordinator/kernel/outbound/outbound-config.ts'
import { createSender } from '../../../../../coordinator/kernel/outbound/sender.ts'
import { openWorker } from '../../../../../coordinator/kernel/queue/open-worker.ts'
import { A2A_PUSH, a2aPush } from '../../../../../coordinator/surfaces/a2a/push/a2a-push.ts'
import { systemRuntime } from '../../../../../shared/runtime.ts'
import { type AnyJson, a2aScene, askUntil, caller, message } from '../../../../support/a2a.ts'
import { testSkills } from '../../../../support/a2a-skills.ts'
import { openNothing } from '../../../../support/coordinator.ts'
import { REFUSED_ADDRESSES } from '../../../../support/refused-addresses.ts'
import { BY } from '../../../kernel/store/temporary.ts'

const MAX_WAITING = 100

/** A receiver whose answers are told in advance; 204 when nothing was. */
const startTarget = async (t: Pick<Test, 'teardown'>) => {
  const got: { headers: AnyJson; body: AnyJson; text: string }[] = []
  const statuses: number[] = []
  const server = createServer(async (request, response) => {
    const text = Buffer.concat(await request.toArray()).toString()
    got.push({ headers: request.headers, body: JSON.parse(text), text })
    response.writeHead(statuses.shift() ?? 204).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const outbound = { allow: [`127.0.0.1:${port}`], allow_http: true }
  return { got, statuses, outbound, url: `http://127.0.0.1:${port}/hook` }
}

const withoutWorker = new Map([[openWorker as OpenPart, openNothing]])

const scene = async (
  t: Test,
  target: Awaited<ReturnType<typeof startTarget>>,
  more: object = {},
) => {
  const { skills, release } = testSkills()
  const config = {
    outbound: target.outbound,
    webhooks: { retry_first_seconds: 0.01, max_attempts: 2 },
  }
  const made = await a2aScene(t, { moreSkills: skills, config, ...more })
  t.teardown(release)
  const ask = caller(made.url, made.demo.operator)
  /** A task at work, with a hook. */
  const begin = async (hook: object = {}): Promise<string> => {
    const sent = await ask.rpc('SendMessage', {
      message: message({ data: { skill: 'test-slow', input: {} } }),
      configuration: {
        returnImmediately: true,
        taskPushNotificationConfig: { id: 'hook', url: target.url, ...hook },
      },
    })
    return sent.result.task.id
  }
  const jobs = () =>
    made.store.ledger.read
      .selectFrom('jobs')
      .selectAll()
      .where('kind', '=', A2A_PUSH)
      .orderBy('seq')
      .execute()
  return { ...made, ask, begin, jobs, release }
}

const stateOf = ({ body }: { body: AnyJson }) => body.statusUpdate?.status.state

t.test('every forbidden address is refused when a webhook is created', async t => {
  const target = await startTarget(t)
  const { ask, begin, store } = await scene(t, target)
  const taskId = await begin()
  t.ok(REFUSED_ADDRESSES.length >= 40)
  for (const [what, url] of REFUSED_ADDRESSES) {
    const { error } = await ask.rpc('CreateTaskPushNotificationConfig', { taskId, id: 'x', url })
    t.equal(error?.code, -32602, `${what}: ${url.slice(0, 60)}`)
  }
  const kept = await store.ledger.read.selectFrom('a2a_push_configs').selectAll().execute()
  t.strictSame(
    kept.map(({ config_id }) => config_id),
    ['hook'],
  )
})

t.test('every forbidden address is refused at delivery, without a name lookup', async t => {
  const asked: string[] = []
  const sender = createSender({
    runtime: systemRuntime,
    config: Outbound.parse({}),
    resolve: async host => {
      asked.push(host)
      return [{ address: '8.8.8.8', family: 4 }]
    },
  })
  for (const [what, url] of REFUSED_ADDRESSES)
    await t.rejects(attempt(url, sender), /the address (is not allowed|must begin)/, what)
  t.strictSame(asked, [])
})

t.test('a name that has since become private is not connected to', async t => {
  const resolve = async () => [{ address: '169.254.169.254', family: 4 as const }]
  const sender = createSender({ runtime: systemRuntime, config: Outbound.parse({}), resolve })
  await t.rejects(attempt('https://hooks.acme-corp.com/', sender), /metadata/)
})

t.test('a failed delivery is retried in order with the same signature', async t => {
  const target = await startTarget(t)
  const { ask, begin } = await scene(t, target)
  const token = 'a token of the client'
  target.statuses.push(500)
  const taskId = await begin({ token })
  await ask.rpc('CancelTask', { id: taskId })
  await askUntil(
    async () => target.got,
    got => got.some(each => stateOf(each) === 'TASK_STATE_CANCELED'),
  )
  const ids = target.got.map(({ headers }) => headers['webhook-id'])
  t.equal(ids[0], ids[1], 'a receiver can tell a repetition')
  t.equal(stateOf(target.got.at(-1) as AnyJson), 'TASK_STATE_CANCELED')
  for (const { headers, text } of target.got) {
    const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${text}`
    const expected = createHmac('sha256', token).update(signed).digest('base64')
    t.equal(headers['webhook-signature'], `v1,${expected}`)
    t.equal(headers['x-a2a-notification-token'], token)
  }
})

t.test('an abandoned delivery becomes a dead letter of the tenant without secrets', async t => {
  const target = await startTarget(t)
  const { ask, begin, jobs } = await scene(t, target)
  for (let at = 0; at < 50; at++) target.statuses.push(500)
  const taskId = await begin({ token: 'a-token-that-is-long' })
  await ask.rpc('CancelTask', { id: taskId })
  const all = await askUntil(
    jobs,
    rows => rows.length > 0 && rows.every(({ state }) => state === 'dead'),
  )
  t.ok(all.every(({ attempts, tenant_id }) => attempts === 2 && tenant_id === 'demo'))
  t.notOk(JSON.stringify(all).includes('a-token'))
})

t.test('the next process sends the deliveries that a stop left', async t => {
  const target = await startTarget(t)
  const first = await scene(t, target, { swaps: withoutWorker })
  const taskId = await first.begin()
  await askUntil(first.jobs, rows => rows.length > 0)
  await first.close()
  t.strictSame(target.got, [])
  const { store, demo } = first
  const second = await scene(t, target, { from: { store, demo } })
  await askUntil(
    async () => target.got,
    got => got.some(each => stateOf(each) === 'TASK_STATE_FAILED'),
  )
  const { result } = await second.ask.rpc('GetTask', { id: taskId })
  t.equal(result.status.state, 'TASK_STATE_FAILED')
})

t.test('a deleted webhook receives nothing more', async t => {
  const target = await startTarget(t)
  const { ask, begin, jobs } = await scene(t, target)
  const taskId = await begin()
  await ask.rpc('DeleteTaskPushNotificationConfig', { taskId, id: 'hook' })
  const areDone = (rows: { state: string }[]) => rows.every(({ state }) => state === 'done')
  await askUntil(jobs, areDone)
  const before = target.got.length
  await ask.rpc('CancelTask', { id: taskId })
  await askUntil(jobs, areDone)
  t.equal(target.got.length, before)
})

t.test('the queue of one webhook is bounded', async t => {
  const target = await startTarget(t)
  const { ask, begin, jobs, work } = await scene(t, target, { swaps: withoutWorker })
  const taskId = await begin()
  const [job] = await askUntil(jobs, rows => rows.length > 0)
  const lane = `${A2A_PUSH}:${taskId}/hook`
  t.equal(job?.lane, lane)
  const payload = JSON.parse(job?.payload_json ?? '')
  const fetchTaskMessage = async () =>
    (await ask.rpc('GetTask', { id: taskId })).result.status.message
  await askUntil(fetchTaskMessage, said => said?.parts[0].data.progress?.done === 2)
  for (let at = (await jobs()).length; at < MAX_WAITING; at++)
    await work.queue.add({ kind: A2A_PUSH, payload, tenantId: 'demo', lane })
  const cancelled = await ask.rpc('CancelTask', { id: taskId })
  t.equal(cancelled.result.status.state, 'TASK_STATE_CANCELED')
  t.equal((await jobs()).length, MAX_WAITING)
})

const PAYLOAD = {
  tenant_id: 't',
  task_id: 'task',
  config_id: 'hook',
  body: '{}',
  content_type: 'application/json',
}

/** One attempt to send to a hook that was registered before. */
const attempt = async (url: string, sender: ReturnType<typeof createSender>): Promise<void> => {
  const hook = { id: 'hook', url, token: '', authentication: undefined }
  const kind = a2aPush({
    config: { max_attempts: 2, retry_first_seconds: 1 },
    configs: { listWithSecrets: async (taskId, tenant) => [{ ...hook, tenant, taskId }] },
    sender,
    now: Date.now,
    isShut: async () => false,
    isSeen: async () => true,
  })
  const signal = new AbortController().signal
  await kind.run(PAYLOAD as never, { job: { id: 'job_1' } as never, signal })
}

t.test('pending deliveries are visible only to readers who may see the task', async t => {
  const target = await startTarget(t)
  const { url, ask, demo, jobs } = await scene(t, target)
  await ask.rpc('SendMessage', {
    message: message({ text: 'nobody knows what this means' }),
    configuration: {
      returnImmediately: true,
      taskPushNotificationConfig: { id: 'hook', url: target.url },
    },
  })
  const [job] = await askUntil(jobs, rows => rows.length > 0)
  const path = `/v1/queue/jobs/${job?.id}`
  const own = (await ask.json(path)).json
  t.match(own.payload, {
    config_id: 'hook',
    body: /several skills match|no skill matches|name one skill/,
  })
  const others = (await caller(url, demo.approver_a).json(path)).json
  t.match(others, { id: job?.id, payload: { config_id: 'hook', body: undefined } })
})

t.test('a webhook reveals no more than its creator may see', async t => {
  const target = await startTarget(t)
  const { url, begin, demo, jobs, keys, tasks } = await scene(t, target)
  const taskId = await begin({ url: `${target.url}/of-the-task` })
  const { personId = '' } = (await keys.authenticate(demo.operator)) ?? {}
  const { key, secret } = await keys.create({ tenantId: 'demo', personId, tier: 'free' }, BY)
  const id = 'of-another-key'
  const body = { taskId, id, url: target.url, token: 'of-another-key' }
  const made = await caller(url, secret).rpc('CreateTaskPushNotificationConfig', body)
  t.equal(made.result?.id, id)
  await keys.revoke(key.id, 'all', BY)
  await tasks.cancel(taskId, 'demo', 'coordinator')
  await askUntil(jobs, rows => rows.every(({ state }) => state === 'done'))
  const last = target.got.filter(each => stateOf(each) === 'TASK_STATE_CANCELED')
  t.strictSame(
    last.map(({ headers }) => headers['x-a2a-notification-token']),
    [undefined],
  )
})

t.test('webhooks of a disabled tenant wait until it is enabled', async t => {
  const target = await startTarget(t)
  const { begin, jobs, keys, tasks } = await scene(t, target)
  const taskId = await begin()
  await askUntil(
    async () => target.got,
    got => got.length > 0,
  )
  await keys.enableTenant('demo', false, BY)
  await tasks.cancel(taskId, 'demo', 'coordinator')
  const isTold = () => target.got.some(each => stateOf(each) === 'TASK_STATE_CANCELED')
  await askUntil(jobs, all => isTold() || all.some(({ reason }) => reason === SHUT))
  t.notOk(isTold())
})

const SHUT = 'the tenant is disabled'
