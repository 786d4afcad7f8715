import t, { type Test } from 'tap'
import { createUsage, type NewUsage } from '../../../../coordinator/access/quota/usage.ts'
import { queryUsage } from '../../../../coordinator/access/quota/usage-query.ts'
import { appWith, views } from '../../../support/app.ts'
import { temporaryStore } from '../../kernel/store/temporary.ts'

const NOW = Date.UTC(2026, 10, 20, 12, 30)
const HOUR_MS = 3_600_000

const row = (other: Partial<NewUsage> = {}): NewUsage => ({
  at: NOW - HOUR_MS,
  key_id: 'key-pro',
  tenant_id: 'home',
  model: 'model-a:7b',
  cell_id: 'c',
  route: '/v1/chat/completions',
  status: 'ok',
  prompt_tokens: 3,
  completion_tokens: 5,
  cached_tokens: 1,
  duration_ms: 20,
  request_id: 'r',
  ...other,
})

const rig = async (t: Test, rows: Partial<NewUsage>[]) => {
  const store = await temporaryStore(t)
  const usage = createUsage(store)
  for (const each of rows) await usage.record(row(each))
  const app = await appWith({
    views: views({
      usage: { read: question => queryUsage(store.records, question) },
      now: () => NOW,
    }),
  })
  t.teardown(() => app.close())
  return (key: string, query = '') =>
    app.inject({ url: `/v1/usage${query}`, headers: { authorization: `Bearer ${key}` } })
}

t.test('a key sees its own usage up to this moment', async t => {
  const ask = await rig(t, [{}, { status: 'failed' }, { key_id: 'other' }, { at: NOW }])
  t.strictSame((await ask('pro-key')).json(), {
    data_state: 'live',
    from: '2026-11-01T00:00:00.000Z',
    to: '2026-11-20T13:00:00.000Z',
    usage: [
      {
        day: '2026-11-20T00:00:00.000Z',
        requests: 3,
        requests_ok: 2,
        requests_cancelled: 0,
        requests_failed: 1,
        prompt_tokens: 9,
        cached_tokens: 3,
        completion_tokens: 15,
        total_tokens: 24,
        duration_ms: 60,
      },
    ],
    next: null,
  })
  t.match((await ask('free-key')).json(), { data_state: 'empty', usage: [] })
  t.match((await ask('pro-key', '?key_id=key-pro')).json().usage, [{ requests: 3 }])
})

t.test('the visible usage depends on the key', async t => {
  const ask = await rig(t, [{}, { key_id: 'b' }, { key_id: 'c', tenant_id: 'two' }])
  const requests = async (key: string, query: string) => {
    const response = await ask(key, query)
    if (response.statusCode !== 200) return response.json().error.code
    return response
      .json()
      .usage.reduce((sum: number, line: { requests: number }) => sum + line.requests, 0)
  }
  for (const [key, query, seen] of [
    ['pro-key', '', 1],
    ['pro-key', '?key_id=b', 'forbidden'],
    ['pro-key', '?tenant_id=two', 'forbidden'],
    ['pro-key', '?scope=tenant', 'forbidden'],
    ['pro-key', '?scope=all', 'forbidden'],
    ['reviewer-key', '', 2],
    ['reviewer-key', '?key_id=b', 1],
    ['reviewer-key', '?key_id=c', 0],
    ['reviewer-key', '?tenant_id=two', 'forbidden'],
    ['reviewer-key', '?scope=all', 'forbidden'],
    ['reviewer-key', '?scope=key', 0],
    ['admin-key', '', 2],
    ['admin-key', '?scope=all', 3],
    ['admin-key', '?scope=all&tenant_id=two', 1],
    ['admin-key', '?scope=all&key_id=b', 1],
  ] as const)
    t.test(`${key} ${query}: ${seen}`, async t => t.equal(await requests(key, query), seen))
})

t.test('rows are returned by group and page by page', async t => {
  const models = ['m1', 'm2', 'm3'].map(model => ({ model }))
  const ask = await rig(t, [...models, ...models, { at: NOW - 24 * HOUR_MS }])
  const grouped = '?group_by=model&from=2026-11-20&to=2026-11-20T13:00Z'
  const all = (await ask('pro-key', grouped)).json()
  t.match(all.usage, [
    { model: 'm1', requests: 2 },
    { model: 'm2', requests: 2 },
    { model: 'm3', requests: 2 },
  ])
  const first = (await ask('pro-key', `${grouped}&limit=2`)).json()
  const rest = (await ask('pro-key', `${grouped}&limit=2&after=${first.next}`)).json()
  t.strictSame([...first.usage, ...rest.usage], all.usage)
  t.equal(rest.next, null)
  const hours = (await ask('pro-key', '?group_by=hour&group_by=model')).json().usage
  t.match(hours[0], { hour: '2026-11-19T12:00:00.000Z', model: 'model-a:7b' })
  t.equal(hours.length, 4)
})

t.test('invalid queries are refused', async t => {
  const ask = await rig(t, [])
  for (const [query, param] of [
    ['?from=yesterday', 'from'],
    ['?from=2026-13-40', 'from'],
    ['?from=2026-11-20&to=2026-11-19', 'to'],
    ['?group_by=week', 'group_by'],
    ['?after=x', 'after'],
    [`?group_by=model&after=${Buffer.from('[1,2]').toString('base64url')}`, 'after'],
    [`?group_by=model&after=${Buffer.from('[1]').toString('base64url')}`, 'after'],
    ['?limit=0', 'limit'],
  ] as const) {
    const response = await ask('pro-key', query)
    t.equal(response.statusCode, 422, query)
    t.match(response.json().error.param, new RegExp(`^${param}`), query)
    t.notMatch(response.json().error.message, /pattern|expected array/, 'in words of people')
  }
})
