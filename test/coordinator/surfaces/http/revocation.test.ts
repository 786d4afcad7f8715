import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import type { Http2ServerResponse } from 'node:http2'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { Keys } from '../../../../coordinator/access/keys/keys.ts'
import { createTenant } from '../../../../coordinator/access/people/tenants.ts'
import type { NewUsage } from '../../../../coordinator/access/quota/usage.ts'
import type { AppParts } from '../../../../coordinator/assembly/app.ts'
import type { CellEngine } from '../../../../coordinator/fleet/routing/router.ts'
import { HEADER_PROMPT_TOKENS } from '../../../../shared/wire/link.ts'
import { appWith, views } from '../../../support/app.ts'
import { type CellHandler, endWithUsage, linkCell } from '../../../support/cell.ts'
import { waitUntil } from '../../../support/wait-until.ts'
import { logger, populate, SPEC } from '../../access/keys/fixtures.ts'
import { BY, temporaryFolder, temporaryStore } from '../../kernel/store/temporary.ts'

const ONE = { tenantId: 'one' }
const CHUNK = 'data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n'

/** Holds its answers open after the first chunk of a stream; `answers` has them. */
const openCell = () => {
  const answers: { response: Http2ServerResponse; closed: Promise<unknown> }[] = []
  const handler: CellHandler = (asked, response) => {
    let text = ''
    asked.on('data', piece => {
      text += piece
    })
    asked.on('end', () => {
      answers.push({ response, closed: once(response, 'close') })
      if (!JSON.parse(text).stream) return
      response.writeHead(200, {
        'content-type': 'text/event-stream',
        [HEADER_PROMPT_TOKENS]: '7',
      })
      response.write(CHUNK + CHUNK)
    })
  }
  return { answers, handler }
}

/** The real front with real keys on a real link to a cell. */
const rig = async (t: Test, parts: Partial<AppParts> = {}) => {
  const folder = await temporaryFolder(t)
  const store = await temporaryStore(t, folder)
  await populate(store)
  await createTenant(store.ledger, { id: 'three', name: 'three' }, BY)
  const clock = { now: 1_800_000_000_000 }
  const timers = new Set<() => void>()
  const keys = new Keys({
    store,
    logger,
    now: () => clock.now,
    later: run => {
      timers.add(run)
      return () => timers.delete(run)
    },
  })
  const { answers, handler } = openCell()
  const cell = await linkCell('a', handler)
  const engine: CellEngine = {
    cellId: 'a',
    link: cell.link,
    slots: 9,
    inFlight: 0,
    others: 0,
    ready: true,
  }
  const rows: NewUsage[] = []
  const refunds = { count: 0 }
  const standing = { limit: 9, remaining: 9, resetSeconds: 1, burst: 9, minuteLimit: 9 }
  const app = await appWith({
    keys,
    fleet: { pick: () => engine, cells: () => [], serves: () => true, roundTripsMs: () => [] },
    usage: { record: async row => void rows.push(row) },
    quota: {
      standing: () => standing,
      admit: () => ({ refund: () => void refunds.count++ }),
    },
    ...parts,
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(async () => {
    keys.close()
    await app.close()
    await cell.close()
  })
  const { port } = app.server.address() as AddressInfo
  const ask = (secret: string, stream: boolean, headers: object = {}): Promise<IncomingMessage> => {
    const asked = request({
      port,
      host: '127.0.0.1',
      method: 'POST',
      path: '/v1/chat/completions',
      headers: {
        authorization: `Bearer ${secret}`,
        'content-type': 'application/json',
        ...headers,
      },
    })
    const messages = [{ role: 'user', content: 'hi' }]
    asked.end(JSON.stringify({ model: 'model-a:7b', stream, messages }))
    return once(asked, 'response').then(([response]) => response as IncomingMessage)
  }
  /** The clock moves, and whoever waits for it looks. */
  const pass = (milliseconds: number): void => {
    clock.now += milliseconds
    for (const run of [...timers]) if (timers.delete(run)) run()
  }
  return { app, keys, store, folder, clock, pass, answers, engine, rows, refunds, ask, port }
}
type Rig = Awaited<ReturnType<typeof rig>>

const textOf = async (response: IncomingMessage): Promise<string> => {
  let text = ''
  for await (const piece of response) text += piece
  return text
}

/** A stream of which the first chunk has arrived. */
const openStream = async ({ ask }: Rig, secret: string, headers: object = {}) => {
  const response = await ask(secret, true, headers)
  const [first] = (await once(response, 'data')) as [Buffer]
  return { response, first: String(first) }
}

const ENDS: Record<string, (rig: Rig, id: string) => Promise<unknown>> = {
  'is deleted': ({ keys }, id) => keys.revoke(id, ONE, BY),
  'is deleted by another process': async ({ folder, store }, id) => {
    const other = await temporaryStore(t, folder)
    await new Keys({ store: other, logger }).revoke(id, 'all', BY)
    await store.revisions.poll()
  },
  'belongs to a person who is disabled': ({ keys }) => keys.enablePerson('ada', false, ONE, BY),
  'belongs to a tenant that is disabled': ({ keys }) => keys.enableTenant('one', false, BY),
  expires: async ({ pass }) => pass(60_000),
}

for (const [what, end] of Object.entries(ENDS)) {
  t.test(`a stream whose key ${what} ends with an error, and its slot is free`, async t => {
    const all = await rig(t)
    await all.store.revisions.poll()
    const expiresAt = all.clock.now + 60_000
    const { key, secret } = await all.keys.create({ ...SPEC, expiresAt }, BY)
    const { response, first } = await openStream(all, secret)
    t.equal(first, CHUNK + CHUNK)
    t.equal(all.engine.inFlight, 1)
    await end(all, key.id)
    const rest = await textOf(response)
    t.match(
      rest,
      /^event: error\ndata: \{"error":\{.*"authentication_error".*"auth_required"\}\}\n\n$/,
    )
    await all.answers[0]?.closed
    await waitForEffect(() => all.engine.inFlight === 0 && all.rows.length === 1)
    t.match(all.rows, [
      { status: 'cancelled', key_id: key.id, prompt_tokens: 7, completion_tokens: 1 },
    ])
    t.equal((await all.ask(secret, true)).statusCode, 401)
  })

  t.test(`an answer that waits for its cell when its key ${what} is 401`, async t => {
    const all = await rig(t)
    await all.store.revisions.poll()
    const expiresAt = all.clock.now + 60_000
    const { key, secret } = await all.keys.create({ ...SPEC, expiresAt }, BY)
    const asked = all.ask(secret, false)
    await waitForEffect(() => all.answers.length === 1)
    await end(all, key.id)
    const response = await asked
    t.equal(response.statusCode, 401)
    t.equal(response.headers['www-authenticate'], 'Bearer realm="shoal"')
    t.match(JSON.parse(await textOf(response)), { error: { code: 'auth_required', param: null } })
    await all.answers[0]?.closed
    await waitForEffect(() => all.engine.inFlight === 0 && all.rows.length === 1)
    t.match(all.rows, [{ status: 'cancelled' }])
  })
}

const waitForEffect = (isSo: () => boolean): Promise<boolean> =>
  waitUntil('the effect of the revocation', isSo, 5)

t.test('a rotated secret keeps its streams until it is retired', async t => {
  const all = await rig(t)
  const { key, secret: old } = await all.keys.create(SPEC, BY)
  const before = await openStream(all, old)
  const { secret } = await all.keys.rotate(key.id, ONE, BY)
  const overlap = await openStream(all, old)
  const after = await openStream(all, secret)
  all.answers[0]?.response.write(CHUNK)
  t.equal(String((await once(before.response, 'data'))[0]), CHUNK, 'two secrets are live')
  await all.keys.retire(key.id, ONE, BY)
  for (const { response } of [before, overlap]) t.match(await textOf(response), /auth_required/)
  const [, , answer] = all.answers
  answer?.response.write('data: [DONE]\n\n')
  if (answer) endWithUsage(answer.response)
  t.match(await textOf(after.response), /^data: \[DONE\]/)
})

t.test('a lower tier ends no stream; the next call is refused what the key lost', async t => {
  const all = await rig(t)
  const { key, secret } = await all.keys.create({ ...SPEC, tier: 'enterprise' }, BY)
  const { response } = await openStream(all, secret)
  await all.keys.setTier(key.id, 'free', ONE, BY)
  const models = await all.app.inject({
    url: '/v1/models/model-f:72b',
    headers: { authorization: `Bearer ${secret}` },
  })
  t.equal(models.statusCode, 404)
  const [answer] = all.answers
  answer?.response.write('data: [DONE]\n\n')
  if (answer) endWithUsage(answer.response)
  t.match(await textOf(response), /^data: \[DONE\]/)
})

t.test('a stream for another tenant ends when that tenant is disabled', async t => {
  const all = await rig(t)
  const { secret } = await all.keys.create({ ...SPEC, furtherTenants: ['three'] }, BY)
  const home = await openStream(all, secret)
  const elsewhere = await openStream(all, secret, { 'x-svc-tenant': 'three' })
  await all.keys.enableTenant('three', false, BY)
  t.match(await textOf(elsewhere.response), /"tenant_forbidden"/)
  t.equal((await all.ask(secret, true, { 'x-svc-tenant': 'three' })).statusCode, 403)
  await all.keys.revoke((await all.keys.list('all'))[0]?.id ?? '', 'all', BY)
  t.match(await textOf(home.response), /"auth_required"/)
})

t.test('a queued request whose key ends gets 401 and a refund', async t => {
  let leave: () => void = () => {}
  let waiting = false
  const all = await rig(t, {
    lanes: () => ({
      pick: () => undefined,
      reportStart: () => {},
      reportEnd: () => {},
      reportFailures: () => {},
      wait: () => {
        waiting = true
        const turn = new Promise<undefined>(resolve => {
          leave = () => resolve(undefined)
        })
        return { turn, leave: () => leave() }
      },
    }),
  })
  const { key, secret } = await all.keys.create(SPEC, BY)
  const asked = all.ask(secret, true)
  await waitForEffect(() => waiting)
  await all.keys.revoke(key.id, ONE, BY)
  t.equal((await asked).statusCode, 401)
  await waitForEffect(() => all.refunds.count === 1)
  t.strictSame(all.rows, [])
})

t.test('a key that ends while its request is being sent is not served', async t => {
  const all = await rig(t)
  const { key, secret } = await all.keys.create(SPEC, BY)
  const body = '{"model":"model-a:7b","messages":[{"role":"user","content":"hi"}]}'
  const asked = request({
    port: all.port,
    host: '127.0.0.1',
    method: 'POST',
    path: '/v1/chat/completions',
    headers: {
      authorization: `Bearer ${secret}`,
      'content-type': 'application/json',
      'content-length': body.length,
    },
  })
  const authenticated = new Promise<void>(resolve => {
    const authenticate = all.keys.authenticate.bind(all.keys)
    all.keys.authenticate = presented => {
      resolve()
      return authenticate(presented)
    }
  })
  asked.flushHeaders()
  await authenticated
  await all.keys.revoke(key.id, ONE, BY)
  asked.end(body)
  const [response] = (await once(asked, 'response')) as [IncomingMessage]
  t.equal(response.statusCode, 401)
})

t.test('a read ends with 401 when its key ends; a call that acts is answered', async t => {
  const read = Promise.withResolvers<void>()
  const written = Promise.withResolvers<void>()
  const begun: string[] = []
  const waits = (name: string, gate: PromiseWithResolvers<void>, answer: object) => async () => {
    begun.push(name)
    await gate.promise
    return answer
  }
  const made = { id: 'new', name: 'new', createdAt: 0 }
  const slow = { list: waits('read', read, []), foundTenant: waits('write', written, made) }
  const all = await rig(t)
  const parts = { views: views({ keys: slow as unknown as Keys }), keys: all.keys }
  const app = await appWith(parts)
  t.teardown(() => app.close())
  const { key, secret } = await all.keys.create({ ...SPEC, roles: ['operator_admin'] }, BY)
  const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' }
  const reading = app.inject({ url: '/v1/keys', headers })
  const payload = JSON.stringify({ name: 'new' })
  const writing = app.inject({ method: 'POST', url: '/v1/tenants', headers, payload })
  await waitForEffect(() => begun.length === 2)
  await all.keys.revoke(key.id, ONE, BY)
  t.equal((await reading).statusCode, 401)
  written.resolve()
  t.match((await writing).json(), { id: 'new' })
  read.resolve()
})
