import t, { type Test } from 'tap'
import { type AnyJson, a2aScene, caller, message } from '../../../support/a2a.ts'
import { testSkills } from '../../../support/a2a-skills.ts'
import { BY } from '../../kernel/store/temporary.ts'

const { skills, release } = testSkills()
const { url, demo, keys, events } = await a2aScene(t, { moreSkills: skills })
t.teardown(release)

/** A task of a skill for operators, which waits for people. */
const beginGatedTask = async (): Promise<string> => {
  const { result } = await caller(url, demo.operator).rpc('SendMessage', {
    message: message({ data: { skill: 'test-gated', input: { stone: 'grey' } } }),
    configuration: { returnImmediately: true },
  })
  return result.task.id
}

/** Every way to ask for one task: does this caller find it? */
const ways = (secret: string) => {
  const { json, rpc } = caller(url, secret)
  const legacy = caller(url, secret, { 'a2a-version': '0.3' })
  const isFound = async (answer: Promise<{ status: number }>) => (await answer).status !== 404
  const isKnown = async (answer: Promise<AnyJson>) => (await answer).error?.code !== -32001
  const hook = { url: 'https://example.com/hook' }
  return {
    show: (id: string) => isFound(json(`/v1/tasks/${id}`)),
    transitions: (id: string) => isFound(json(`/v1/tasks/${id}/transitions`)),
    get: (id: string) => isKnown(rpc('GetTask', { id })),
    'get over HTTP': (id: string) => isFound(json(`/a2a/rest/tasks/${id}`)),
    'get 0.3': (id: string) => isKnown(legacy.rpc('tasks/get', { id })),
    'get 0.3 over HTTP': (id: string) => isFound(legacy.json(`/a2a/rest/v1/tasks/${id}`)),
    hooks: (taskId: string) => isKnown(rpc('ListTaskPushNotificationConfigs', { taskId })),
    'hook 0.3': (taskId: string) =>
      isKnown(
        legacy.rpc('tasks/pushNotificationConfig/set', { taskId, pushNotificationConfig: hook }),
      ),
    'hooks over HTTP': (id: string) =>
      isFound(json(`/a2a/rest/tasks/${id}/pushNotificationConfigs`)),
    'message to it': (taskId: string) =>
      isKnown(rpc('SendMessage', { message: message({ data: {} }, { taskId }) })),
    'list of REST': async (id: string) =>
      (await json('/v1/tasks')).json.tasks.some((task: AnyJson) => task.id === id),
    list: async (id: string) =>
      (await rpc('ListTasks', {})).result.tasks.some((task: AnyJson) => task.id === id),
  }
}

/** A task of a skill for every key: what it answers depends on whose key asks. */
const beginEchoTask = async (): Promise<string> => {
  const { result } = await caller(url, demo.operator).rpc('SendMessage', {
    message: message({ data: { skill: 'test-echo', input: { words: 'mine' } } }),
  })
  return result.task.id
}

/** Ends it, so for a task of its own each. */
const cancels = (secret: string) => {
  const { json, rpc } = caller(url, secret)
  const legacy = caller(url, secret, { 'a2a-version': '0.3' })
  return {
    cancel: async (id: string) => (await json(`/v1/tasks/${id}/cancel`, {})).status === 200,
    'cancel 1.0': async (id: string) => (await rpc('CancelTask', { id })).error === undefined,
    'cancel 0.3': async (id: string) =>
      (await legacy.rpc('tasks/cancel', { id })).error === undefined,
  }
}

const expectFor = async (t: Test, secret: string, may: boolean) => {
  const id = await beginGatedTask()
  for (const [name, ask] of Object.entries(ways(secret))) t.equal(await ask(id), may, name)
  for (const [name, ask] of Object.entries(cancels(secret)))
    t.equal(await ask(await beginGatedTask()), may, name)
}

t.test('a key that may not call the skill of a task finds no task', t =>
  expectFor(t, demo.free, false),
)

t.test('a key that may call the skill finds the task, as do keys of its requester', async t => {
  await expectFor(t, demo.approver_a, true)
  await expectFor(t, await ownKey(), true)
})

t.test('the answer of an open skill to one key is hidden from other keys', async t => {
  const id = await beginEchoTask()
  for (const secret of [demo.free, demo.approver_a])
    for (const [name, ask] of Object.entries(ways(secret))) t.equal(await ask(id), false, name)
  for (const [name, ask] of Object.entries(ways(await ownKey()))) t.ok(await ask(id), name)
})

t.test('a page of a list is filled with tasks that the reader may see', async t => {
  await beginGatedTask()
  const { json, rpc } = caller(url, demo.free)
  const ids: string[] = []
  for (const words of ['a', 'b', 'c']) {
    const data = { skill: 'test-echo', input: { words } }
    ids.push((await rpc('SendMessage', { message: message({ data }) })).result.task.id)
    await beginGatedTask()
  }
  const first = (await json('/v1/tasks?limit=2')).json
  const second = (await json(`/v1/tasks?limit=2&cursor=${encodeURIComponent(first.next)}`)).json
  t.strictSame(
    [first, second].map(page => page.tasks.map((task: AnyJson) => task.id)),
    [[ids[2], ids[1]], [ids[0]]],
  )
  t.equal(second.next, null)
  t.equal((await rpc('ListTasks', {})).result.totalSize, 3)
})

/** A key of the operator's with fewer rights. */
const ownKey = async (): Promise<string> => {
  const { personId = '' } = (await keys.authenticate(demo.operator)) ?? {}
  return (await keys.create({ tenantId: 'demo', personId, tier: 'free' }, BY)).secret
}

t.test('task events reach only readers who may see the task', async t => {
  await events.catchUp()
  const mark = String(events.position())
  const hidden = await beginGatedTask()
  const { result } = await caller(url, demo.operator).rpc('SendMessage', {
    message: message({ data: { skill: 'test-open', input: {} } }),
  })
  for (const [secret, hears] of [
    [demo.free, false],
    [demo.approver_a, true],
    [await ownKey(), true],
  ] as const) {
    const told = new Set<string>()
    const since = caller(url, secret, { 'last-event-id': mark })
    for await (const event of since.events('/v1/events?types=shoal.task.*')) {
      told.add(event.subject)
      if (told.has(result.task.id)) break
    }
    t.equal(told.has(hidden), hears, secret.slice(0, 12))
  }
})
