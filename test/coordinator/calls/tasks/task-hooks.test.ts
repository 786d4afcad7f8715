import t from 'tap'
import { type AnyJson, a2aScene, caller } from '../../../support/a2a.ts'
import { testSkills } from '../../../support/a2a-skills.ts'

const { skills, release } = testSkills()
const { url, demo } = await a2aScene(t, { moreSkills: skills })
t.teardown(release)
const ask = caller(url, demo.operator).json
const SECRET = 'a-credential-that-is-long-enough'

const beginTask = async (): Promise<string> =>
  (await ask('/v1/skills/test-slow', { steps: 1 })).json.task_id

t.test('webhooks of a task are created, shown without their secrets, and deleted', async t => {
  const path = `/v1/tasks/${await beginTask()}/hooks`
  const made = await ask(path, {
    url: 'https://hooks.acme-corp.com/tasks',
    token: SECRET,
    scheme: 'Bearer',
    credentials: SECRET,
  })
  t.equal(made.status, 201)
  t.match(made.json, { id: /./, url: 'https://hooks.acme-corp.com/tasks', scheme: 'Bearer' })
  t.notMatch(JSON.stringify(made.json), SECRET)
  const { id } = made.json
  t.strictSame((await ask(`${path}/${id}`)).json, made.json)
  t.strictSame((await ask(path)).json, { hooks: [made.json] })
  t.strictSame((await ask(`${path}/${id}`, undefined, 'DELETE')).json, made.json)
  t.strictSame((await ask(path)).json, { hooks: [] })
  for (const method of ['GET', 'DELETE'])
    t.equal((await ask(`${path}/${id}`, undefined, method)).status, 404, method)
})

t.test('webhooks of a task are the push configurations of A2A', async t => {
  const id = await beginTask()
  const { json } = await ask(`/v1/tasks/${id}/hooks`, { url: 'https://hooks.acme-corp.com/x' })
  const rest = caller(url, demo.operator, { 'a2a-version': '1.0' }).json
  const listed = (await rest(`/a2a/rest/tasks/${id}/pushNotificationConfigs`)).json
  t.strictSame(
    listed.configs.map((each: AnyJson) => [each.id, each.url]),
    [[json.id, 'https://hooks.acme-corp.com/x']],
  )
})

t.test('forbidden addresses and tasks of others are refused', async t => {
  const id = await beginTask()
  for (const [body, param] of [
    [{ url: 'http://hooks.acme-corp.com/x' }, 'url'],
    [{ url: 'https://127.0.0.1/x' }, 'url'],
    [{ url: 'https://169.254.169.254/latest' }, 'url'],
    [{ url: 'no address' }, 'url'],
    [{}, 'url'],
    [{ url: 'https://hooks.acme-corp.com/x', credentials: 'x' }, 'scheme'],
    [{ url: 'https://hooks.acme-corp.com/x', token: 'a\nb' }, 'token'],
  ] as const) {
    const { status, json } = await ask(`/v1/tasks/${id}/hooks`, body)
    t.equal(status, 422, JSON.stringify(body))
    t.equal(json.error.param, param, JSON.stringify(body))
  }
  const stranger = caller(url, demo.stranger).json
  const body = { url: 'https://hooks.acme-corp.com/x' }
  t.equal((await stranger(`/v1/tasks/${id}/hooks`, body)).status, 404)
  t.equal((await stranger(`/v1/tasks/${id}/hooks`)).status, 404)
  t.strictSame((await ask(`/v1/tasks/${id}/hooks`)).json, { hooks: [] })
})
