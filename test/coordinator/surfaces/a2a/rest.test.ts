import t from 'tap'
import { type AnyJson, a2aScene, caller, message } from '../../../support/a2a.ts'
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
const rest = caller(`${url}/a2a/rest`, demo.operator, { 'a2a-version': '1.0' })
const call = (skill: string, input: object) => ({ message: message({ data: { skill, input } }) })

t.test('HTTP+JSON 1.0 has every method at its path, also below the tenant name', async t => {
  for (const prefix of ['', '/demo']) {
    const sent = await rest.json(`${prefix}/message:send`, call('test-echo', { words: 'a' }))
    t.equal(sent.status, 200)
    const { id } = sent.json.task
    t.equal((await rest.json(`${prefix}/tasks/${id}`)).json.status.state, 'TASK_STATE_COMPLETED')
    t.equal((await rest.json(`${prefix}/tasks/${id}?historyLength=0`)).json.history, undefined)
    t.ok(
      (await rest.json(`${prefix}/tasks?pageSize=1&includeArtifacts=true`)).json.tasks[0].artifacts,
    )
    t.equal((await rest.json(`${prefix}/tasks/${id}:cancel`, {})).status, 400)
    t.equal((await rest.json(`${prefix}/extendedAgentCard`)).json.name, 'shoal')
    const told: AnyJson[] = []
    for await (const event of rest.events(`${prefix}/message:stream`, call('test-talk', {})))
      told.push(event)
    t.ok(told[0].task)
    t.equal(told.at(-1).statusUpdate.status.state, 'TASK_STATE_COMPLETED')
  }
  t.equal((await rest.json('/other/tasks')).status, 403)
})

t.test('webhooks are created, listed without their secrets, and deleted', async t => {
  const configuration = { returnImmediately: true }
  const begun = await rest.json('/message:send', { ...call('test-slow', {}), configuration })
  const path = `/tasks/${begun.json.task.id}/pushNotificationConfigs`
  const made = await rest.json(path, { id: 'one', url: hook.url, token: 'a-token-that-is-long' })
  t.equal(made.status, 201)
  t.equal(made.json.token, '***long')
  t.strictSame((await rest.json(`${path}/one`)).json, made.json)
  t.equal((await rest.json(path)).json.configs.length, 1)
  const kept = await scene.store.ledger.read.selectFrom('a2a_push_configs').selectAll().execute()
  t.notOk(JSON.stringify(kept).includes('a-token'))
  for (let at = 2; at <= 10; at++) await rest.json(path, { id: `${at}`, url: hook.url })
  t.equal((await rest.json(path, { id: '11', url: hook.url })).status, 400)
  t.equal((await rest.json(`${path}/one`, undefined, 'DELETE')).status, 204)
  t.equal((await rest.json(`${path}/one`)).status, 404)
  const stranger = caller(`${url}/a2a/rest`, demo.stranger)
  t.equal((await stranger.json(path)).status, 404)
  await rest.json(`/tasks/${begun.json.task.id}:cancel`, {})
})

t.test('a webhook with a forbidden address is refused, and its task does not run', async t => {
  for (const address of [
    'https://169.254.169.254/latest',
    'http://localhost/x',
    'https://10.0.0.1/x',
    'ftp://127.0.0.1/x',
    'http://user:pass@127.0.0.1/x',
    'nothing',
  ]) {
    const taskPushNotificationConfig = { url: address }
    const sent = await rest.json('/message:send', {
      ...call('test-echo', { words: 'unsaid' }),
      configuration: { taskPushNotificationConfig },
    })
    t.equal(sent.status, 400, address)
    t.match(sent.json.error.details[1], { fieldViolations: [{ field: 'url' }] })
  }
})

t.test('errors are google.rpc.Status, in the requested media type', async t => {
  const none = await rest.json('/tasks/none')
  t.equal(none.status, 404)
  t.match(none.json, {
    error: {
      code: 404,
      status: 'NOT_FOUND',
      details: [{ reason: 'TASK_NOT_FOUND', domain: 'a2a-protocol.org' }],
    },
  })
  t.match(none.headers.get('content-type'), /^application\/json/)
  const newer = caller(`${url}/a2a/rest`, demo.operator, { accept: 'application/a2a+json' })
  t.match((await newer.json('/tasks/none')).headers.get('content-type'), /^application\/a2a\+json/)
  for (const [path, body, status, reason] of [
    ['/message:send', '{"a', 400, undefined],
    ['/message:send', [], 400, 'INVALID_INPUT'],
    ['/message:send', {}, 400, 'INVALID_PARAMS'],
    ['/nothing', undefined, 404, 'NOT_FOUND'],
    ['/message:send', undefined, 405, 'METHOD_NOT_ALLOWED'],
    ['/tasks?pageSize=x', undefined, 400, 'INVALID_PARAMS'],
    ['/tasks?status=NOTHING', undefined, 400, 'INVALID_PARAMS'],
  ] as const) {
    const answer = await rest.json(path, body)
    t.equal(answer.status, status, path)
    t.equal(answer.json.error.details[0]?.reason, reason, path)
    t.ok(answer.headers.get('x-ratelimit-limit'))
  }
  const text = caller(`${url}/a2a/rest`, demo.operator, { 'content-type': 'text/plain' })
  const answer = await text.json('/message:send', 'hello')
  t.equal(answer.status, 400)
  t.equal(answer.json.error.details[0].reason, 'CONTENT_TYPE_NOT_SUPPORTED')
  t.equal((await caller(`${url}/a2a/rest`, undefined).json('/tasks')).status, 401)
})

t.test('HTTP+JSON 0.3 accepts and returns the shapes of its .proto file', async t => {
  const old = caller(`${url}/a2a/rest/v1`, demo.operator)
  const part = { data: { data: { skill: 'test-echo', input: { words: 'a' } } } }
  const body = { messageId: `old-${process.pid}`, role: 'ROLE_USER', content: [part] }
  const sent = await old.json('/message:send', { message: body, configuration: { blocking: true } })
  t.equal(sent.status, 201)
  t.match(sent.json.task, {
    status: { state: 'TASK_STATE_COMPLETED' },
    history: [{ role: 'ROLE_USER', content: [part] }],
    artifacts: [{ parts: [{ data: { data: { said: ['a'] } } }] }],
  })
  const { id } = sent.json.task
  t.equal((await old.json(`/tasks/${id}`)).json.id, id)
  const none = await old.json('/tasks/none')
  t.strictSame([none.status, none.json.code], [404, -32001])
  t.equal((await old.json('/card')).json.name, 'shoal')
  t.equal((await old.json('/message:send', { message: { content: 7 } })).status, 400)
})
