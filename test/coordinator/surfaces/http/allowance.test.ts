import type { AddressInfo } from 'node:net'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { Keys } from '../../../../coordinator/access/keys/keys.ts'
import { KEY_PREFIX, newSecret } from '../../../../coordinator/access/keys/secret.ts'
import { LeasedQuota } from '../../../../coordinator/access/quota/quota.ts'
import { Tiers } from '../../../../coordinator/access/quota/tiers.ts'
import type { NewUsage } from '../../../../coordinator/access/quota/usage.ts'
import type { AppParts } from '../../../../coordinator/assembly/app.ts'
import type { CellEngine } from '../../../../coordinator/fleet/routing/router.ts'
import { Budgets } from '../../../../coordinator/kernel/budgets/budgets.ts'
import { ShoalError } from '../../../../shared/errors.ts'
import { appWith, config, rawRequest, views } from '../../../support/app.ts'
import { endWithUsage, linkCell } from '../../../support/cell.ts'
import { logger, populate, SPEC } from '../../access/keys/fixtures.ts'
import { BY, temporaryFolder, temporaryStore } from '../../kernel/store/temporary.ts'

const MIB = 1024 * 1024

const bearer = (secret: string) => ({ headers: { authorization: `Bearer ${secret}` } })

/** The real front on a real quota, whose minute clock stands still. */
const rig = async (t: Test, tiers: object = {}, parts: Partial<AppParts> = {}) => {
  const folder = await temporaryFolder(t)
  const store = await temporaryStore(t, folder)
  await populate(store)
  const keys = new Keys({ store, logger })
  const settings = config({ tiers })
  const quota = new LeasedQuota({
    store,
    tiers: settings.tiers,
    logger,
    ticks: () => 0,
  })
  const app = await appWith({
    config: settings,
    keys,
    quota,
    views: views({ tiers: settings.tiers }),
    ...parts,
  })
  t.teardown(() => app.close())
  return { app, keys, store, folder }
}

t.test('an address without a key', async t => {
  t.test('uses up its minute with open operations and then has to wait', async t => {
    const { app } = await rig(t)
    const answers = []
    for (let n = 0; n < 30; n++) {
      const { statusCode, headers } = await app.inject('/v1/tiers')
      const left = [headers['x-ratelimit-burst'], headers['x-ratelimit-remaining']]
      answers.push([statusCode, ...left.map(Number)])
    }
    t.strictSame(
      answers,
      Array.from({ length: 30 }, (_, n) => [200, 29 - n, 999 - n]),
    )
    const refused = await app.inject('/v1/tiers')
    t.equal(refused.statusCode, 429)
    t.equal(refused.json().error.code, 'rate_limited')
    t.equal(refused.headers['retry-after'], '60')
    t.equal(refused.headers['x-ratelimit-remaining'], '970', 'a refusal costs nothing')
  })

  t.test('has a month, after which it gets 403', async t => {
    const { app } = await rig(t, { anonymous: { requests_per_month: 2 } })
    for (let n = 0; n < 2; n++) t.equal((await app.inject('/v1/tiers')).statusCode, 200)
    const refused = await app.inject('/v1/tiers')
    t.equal(refused.statusCode, 403)
    t.equal(refused.json().error.code, 'tier_exceeded')
    t.equal((await app.inject({ url: '/v1/tiers', remoteAddress: '10.0.0.9' })).statusCode, 200)
  })

  t.test('pays nothing for a refused call', async t => {
    const { app } = await rig(t, { anonymous: { requests_per_month: 1 } })
    for (let n = 0; n < 3; n++) t.equal((await app.inject('/v1/tiers?wrong=1')).statusCode, 422)
    t.equal((await app.inject('/v1/tiers')).statusCode, 200)
  })

  t.test('may request health, the card and the documents beside that allowance', async t => {
    const { app } = await rig(t, { anonymous: { requests_per_month: 0, requests_per_minute: 1 } })
    const paths = ['/v1/health', '/healthz', '/readyz', '/health', '/.well-known/agent.json']
    for (const url of [...paths, '/v1/openapi.json', '/docs'])
      for (let n = 0; n < 3; n++) {
        const { statusCode, headers } = await app.inject(url)
        t.equal(statusCode, 200, url)
        t.equal(headers['x-ratelimit-limit'], '0', url)
        t.equal(headers['x-ratelimit-burst'], '1', url)
      }
    t.equal((await app.inject('/v1/tiers')).statusCode, 403)
  })
})

t.test('requests without a valid key are counted, whatever they ask for', async t => {
  const app = await appWith({ config: config({ limits: { anonymous_per_minute: 5 } }) })
  t.teardown(() => app.close())
  const ask = (url: string, more: object = {}) => app.inject({ url, ...more })
  const guess = { authorization: 'Bearer svc-dev-guess' }
  const post = { method: 'POST', headers: { ...guess, 'content-type': 'application/json' } }
  const answers = [
    await ask('/v1/openapi.json'),
    await ask('/v1/none'),
    await ask('/v1/models', { headers: guess }),
    await ask('/v1/chat/completions', { ...post, payload: '{}' }),
    await ask('/v1/health'),
  ]
  t.strictSame(
    answers.map(({ statusCode }) => statusCode),
    [200, 404, 401, 401, 200],
  )
  for (const url of ['/v1/openapi.json', '/v1/none', '/v1/models', '/v1/health', '/docs']) {
    const refused = await ask(url, { headers: guess })
    t.equal(refused.statusCode, 429, url)
    t.match(refused.json(), { error: { code: 'rate_limited' } })
    t.match(refused.headers, { 'retry-after': /^\d+$/, 'x-ratelimit-limit': /^\d+$/ })
  }
  t.equal((await ask('/v1/chat/completions', { ...post, payload: '{}' })).statusCode, 429)
  for (const url of ['/healthz', '/readyz']) t.equal((await ask(url)).statusCode, 200, url)
  const key = { authorization: 'Bearer free-key' }
  t.equal((await ask('/v1/models', { headers: key })).statusCode, 200)
  t.equal((await ask('/docs', { remoteAddress: '10.0.0.9' })).statusCode, 200)
})

t.test('an address that guesses too many keys makes the store look for no more', async t => {
  const folder = await temporaryFolder(t)
  const store = await temporaryStore(t, folder)
  await populate(store)
  const keys = new Keys({ store, logger })
  const { secret } = await keys.create(SPEC, BY)
  const lines: string[] = []
  let loads = 0
  const authenticate = (presented: string, onLoad?: () => void) =>
    keys.authenticate(presented, () => {
      onLoad?.()
      loads++
    })
  const app = await appWith({
    config: config({ limits: { anonymous_per_minute: 3 } }),
    keys: { authenticate },
    logger: pino({ base: null }, { write: line => void lines.push(line) }),
  })
  t.teardown(() => app.close())
  const ask = async (key: string, method: 'GET' | 'POST' = 'GET') =>
    (
      await app.inject({
        method,
        url: method === 'GET' ? '/v1/models' : '/v1/chat/completions',
        headers: { authorization: `Bearer ${key}` },
      })
    ).statusCode
  t.equal(await ask(secret), 200)
  const statuses: number[] = []
  const guesses = Array.from({ length: 10 }, () => newSecret(KEY_PREFIX).text)
  for (const [n, guess] of guesses.entries())
    statuses.push(await ask(guess, n % 2 === 0 ? 'GET' : 'POST'))
  t.strictSame(statuses, [401, 401, 401, 429, 429, 429, 429, 429, 429, 429])
  t.equal(loads, 4, 'the valid key, and as many as the limit')
  t.equal(await ask(secret), 200, 'a key in memory needs no store')
  t.match(lines, [/an invalid key was refused/])
  t.match(JSON.parse(lines[0] ?? ''), { address: '127.0.0.1', refused: 1 })
  t.equal(lines.length, 1, 'one line in 10 s')
  for (const guess of guesses) t.notMatch(lines[0], guess)
})

t.test('requests of cells count only when their credential is refused', async t => {
  const app = await appWith({
    config: config({ limits: { anonymous_per_minute: 2 } }),
    cellSelf: {
      authenticate: async (_id: string, credential: string) =>
        credential === 'right' ? { id: 'cell_a', name: 'a', tags: [], renewedAt: 0 } : undefined,
      trust: () => ({}),
      now: () => 0,
    } as unknown as AppParts['cellSelf'],
  })
  t.teardown(() => app.close())
  const statusWith = async (credential: string): Promise<number> => {
    const authorization = `Basic ${Buffer.from(`cell_a:${credential}`).toString('base64')}`
    return (await app.inject({ url: '/v1/cells/cell_a/self', headers: { authorization } }))
      .statusCode
  }
  for (let n = 0; n < 5; n++) t.equal(await statusWith('right'), 200)
  t.strictSame(
    [await statusWith('no'), await statusWith('no'), await statusWith('no')],
    [401, 401, 429],
  )
  t.equal(await statusWith('right'), 200)
})

t.test('with a key, calls count against its minute and not the month', async t => {
  const { app, keys } = await rig(t, { pro: { requests_per_month: 5 } })
  const { secret } = await keys.create(SPEC, BY)
  const answers = []
  for (let n = 0; n < 60; n++) {
    const { statusCode, headers } = await app.inject({ url: '/v1/tiers', ...bearer(secret) })
    answers.push([statusCode, headers['x-ratelimit-remaining']])
  }
  t.strictSame(answers, Array(60).fill([200, '5']))
  const refused = await app.inject({ url: '/v1/tiers', ...bearer(secret) })
  t.equal(refused.statusCode, 429)
  t.match(refused.headers['retry-after'], /^\d+$/)
  t.equal((await app.inject('/v1/tiers')).statusCode, 200, 'the address has its own')
})

t.test('a tier set by another process applies after the next check', async t => {
  const { app, keys, store, folder } = await rig(t)
  const { key, secret } = await keys.create(SPEC, BY)
  await store.revisions.poll()
  const limit = async () =>
    (await app.inject({ url: '/v1/models', ...bearer(secret) })).headers['x-ratelimit-limit']
  t.equal(await limit(), '50000')
  const other = new Keys({ store: await temporaryStore(t, folder), logger })
  await other.setTier(key.id, 'free', 'all', BY)
  await store.revisions.poll()
  t.equal(await limit(), '1000')
  const models = await app.inject({ url: '/v1/models', ...bearer(secret) })
  t.strictSame(
    models.json().data.map((model: { id: string }) => model.id),
    ['model-a:7b'],
  )
})

t.test('the tiers are listed as configured', async t => {
  const { app } = await rig(t, { pro: { requests_per_minute: 60 } })
  const { tiers, anonymous } = (await app.inject('/v1/tiers')).json()
  t.strictSame(anonymous, { requests_per_month: 1000, requests_per_minute: 30 })
  t.strictSame(tiers[0], { id: 'free', ...Tiers.parse({}).free, models: ['model-a:7b'] })
  t.match(tiers[1], { id: 'pro', requests_per_minute: 60, price_eur_per_month: 29 })
  t.match(tiers[2], { id: 'enterprise', requests_per_month: 'unlimited' })
  t.ok(tiers[2].models.includes('model-f:72b'))
  t.notOk(tiers[1].models.includes('model-f:72b'))
})

t.test('every refusal with 503 states when to retry', async t => {
  const app = await appWith({
    findReadinessFault: () => new ShoalError('broker_unavailable', 'the broker is unreachable'),
  })
  t.teardown(() => app.close())
  const { statusCode, headers } = await app.inject('/readyz')
  t.equal(statusCode, 503)
  t.equal(headers['retry-after'], '5')
})

t.test('a call that never becomes a request also has the limits in its headers', async t => {
  const { app } = await rig(t)
  await app.listen({ port: 0, host: '127.0.0.1' })
  t.match(
    await rawRequest(app.server.address() as AddressInfo, 'nonsense\r\n\r\n'),
    /x-ratelimit-limit: 1000/,
  )
})

t.test('the cost of a request', async t => {
  let asked = 0
  let answerKib = 0
  const cell = await linkCell('a', (request, response) => {
    let body = ''
    request.on('data', piece => {
      body += piece
    })
    request.on('end', () => {
      const isStream = body.includes('stream')
      asked++
      response.on('error', () => {})
      response.setHeader('content-type', isStream ? 'text/event-stream' : 'application/json')
      response.write(isStream ? 'data: {}\n\n' : `{}${' '.repeat(answerKib * 1024)}`)
      endWithUsage(response)
    })
  })
  t.teardown(cell.close)
  const engine: CellEngine = {
    cellId: 'a',
    link: cell.link,
    slots: 1,
    inFlight: 0,
    others: 0,
    ready: true,
  }
  const served = { isThere: true }
  const fleet = {
    pick: (_model: string, tried?: ReadonlySet<string>) =>
      served.isThere && !tried?.has('a') ? engine : undefined,
    cells: () => [],
    serves: () => true,
    roundTripsMs: () => [],
  }
  const budgets = new Budgets(config({ limits: { held_bytes: MIB } }).limits)
  const statuses: string[] = []
  const usage = { record: async ({ status }: NewUsage) => void statuses.push(status) }
  const parts = { fleet, budgets, usage }
  const { app, keys } = await rig(t, { pro: { requests_per_minute: 3 } }, parts)
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  const { key, secret } = await keys.create(SPEC, BY)
  const unread = budgets.heldAnswers.open({ key: key.id })
  const chat = { model: 'model-a:7b', messages: [{ role: 'user', content: 'x' }] }
  const ask = async (body: object, key = secret) => {
    const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    await response.arrayBuffer()
    return response
  }
  let left = 50_000
  let burst = 3
  const requests: [string, number, object, number, number?][] = [
    ['an invalid body', 422, { ...chat, temperature: 9 }, 0],
    ['a model of another tier', 422, { ...chat, model: 'model-e:70b' }, 0],
    ['an answer', 200, chat, 1],
    ['a stream', 200, { ...chat, stream: true }, 1],
    ['one that no cell takes', 503, chat, 0],
    ['one whose answer finds no room beside unread ones', 429, chat, 0, 384],
    ['one of a key whose unread answers leave no room', 429, chat, 0, 385],
    ['the last of the minute', 200, chat, 1],
    ['one too many in the minute', 429, chat, 0],
  ]
  for (const [title, status, body, cost, unreadKib = 0] of requests)
    t.test(`${title}: ${cost}`, async t => {
      served.isThere = status !== 503
      unread.close()
      unread.force(unreadKib * 1024)
      answerKib = unreadKib > 0 ? 200 : 0
      const response = await ask(body)
      left -= cost
      burst -= cost
      t.equal(response.status, status)
      t.equal(response.headers.get('x-ratelimit-remaining'), String(left))
      t.equal(response.headers.get('x-ratelimit-burst'), String(burst))
      t.equal(response.headers.has('retry-after'), status === 429 || status === 503)
    })
  t.test(
    'a refused request leaves no usage, and asks no cell where it can be refused before',
    t => {
      t.strictSame(statuses, ['ok', 'ok', 'ok'])
      t.equal(asked, 4, 'the answers, and the one without room')
      t.end()
    },
  )
  t.test('an invalid key costs the address nothing', async t => {
    const response = await ask(chat, 'svc-dev-nonsense')
    t.equal(response.status, 401)
    t.equal(response.headers.get('x-ratelimit-remaining'), '1000')
  })
})
