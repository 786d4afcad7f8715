import t, { type Test } from 'tap'
import {
  deleteEnded,
  StoredResponses,
} from '../../../../coordinator/gateway/responses/stored-responses.ts'
import { openStore, type Store } from '../../../../coordinator/kernel/store/store.ts'
import { DAY_MS } from '../../../../shared/time.ts'
import { keyOfTier } from '../../../support/app.ts'
import { endWithUsage } from '../../../support/cell.ts'
import { openScene } from '../../../support/coordinator.ts'
import { rig } from '../../../support/front-rig.ts'
import { createStoreDatabase, postgresMissing } from '../../../support/postgres.ts'
import { waitUntil } from '../../../support/wait-until.ts'
import { BY } from '../../kernel/store/temporary.ts'

const message = (text: string) => ({
  id: 'msg_1',
  type: 'message',
  status: 'completed',
  role: 'assistant',
  content: [{ type: 'output_text', text, annotations: [], logprobs: [] }],
})

const STORES = {
  SQLite: { skip: false, open: (t: Test) => openStore(t.testdir()) },
  PostgreSQL: {
    skip: postgresMissing,
    open: async (t: Test) => openStore(await createStoreDatabase(t), { pollMilliseconds: 20 }),
  },
} as const
const onEachStore = (
  title: string,
  test: (t: Test, open: () => Promise<Store>) => Promise<void>,
): void => {
  for (const [name, { skip, open }] of Object.entries(STORES))
    t.test(`${title} (${name})`, { skip }, t =>
      test(t, async () => {
        const store = await open(t)
        t.teardown(() => store.close())
        return store
      }),
    )
}

/** The real front and store before a cell that answers each request with a response of its own. */
const start = async (t: Test, store: Store) => {
  const clock = { at: 1_800_000_000_000 }
  const storedResponses = new StoredResponses({ ledger: store.ledger, now: () => clock.at })
  let count = 0
  const front = await rig(
    t,
    (request, response) => {
      const id = `resp_${++count}`
      const given = { id, store: false, previous_response_id: null, output: [message(`a${count}`)] }
      if (request.headers['x-stream'] === undefined && count !== 2) {
        response.writeHead(200, { 'content-type': 'application/json' })
        response.write(JSON.stringify(given))
      } else {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        for (const type of ['response.created', 'response.completed'])
          response.write(`event: ${type}\ndata: ${JSON.stringify({ type, response: given })}\n\n`)
        response.write('data: [DONE]\n\n')
      }
      endWithUsage(response)
    },
    {
      storedResponses,
      keys: {
        authenticate: secret => ({ ...keyOfTier('pro'), id: `key-${secret}` }),
        hold: () => () => {},
      },
    },
  )
  const at = (method: 'GET' | 'DELETE', id: string, key = 'pro-key') =>
    front.app.inject({
      method,
      url: `/v1/responses/${id}`,
      headers: { authorization: `Bearer ${key}` },
    })
  return { ...front, at, clock, store }
}

onEachStore('a response is stored on request, continued, shown and deleted', async (t, open) => {
  const { post, seen, at, clock } = await start(t, await open())
  const ask = (more: object, key = 'pro-key') =>
    post(
      '/v1/responses',
      { model: 'model-a:7b', input: 'hi', ...more },
      { authorization: `Bearer ${key}` },
    )
  const first = await ask({ store: true })
  t.match(await first.json(), { id: 'resp_1', store: true, previous_response_id: null })
  t.notOk(Object.hasOwn(seen[0]?.body ?? {}, 'store'), 'the cell stores nothing')

  const more = { store: true, stream: true, input: 'more', previous_response_id: 'resp_1' }
  const events = await (await ask(more)).text()
  t.match(events, /event: response\.completed\ndata: .*"previous_response_id":"resp_1"/)
  t.ok(events.endsWith('data: [DONE]\n\n'))
  const user = (text: string) => ({ role: 'user', content: [{ type: 'input_text', text }] })
  t.match(seen[1]?.body, { input: [user('hi'), message('a1'), user('more')] })

  const third = await ask({ input: 'last', previous_response_id: 'resp_2' })
  t.match(await third.json(), { store: false, previous_response_id: 'resp_2' })
  const input = seen[2]?.body.input as object[] | undefined
  t.equal(input?.length, 5, 'the whole conversation')
  t.equal((await at('GET', 'resp_3')).statusCode, 404, 'it was not to be stored')
  t.match((await at('GET', 'resp_2')).json(), { id: 'resp_2', store: true })

  const foreign = await ask({ previous_response_id: 'resp_1' }, 'other-key')
  t.match(
    [foreign.status, await foreign.json()],
    [404, { error: { code: 'not_found', param: 'previous_response_id' } }],
  )
  for (const method of ['GET', 'DELETE'] as const)
    t.equal((await at(method, 'resp_1', 'other-key')).statusCode, 404)
  t.match((await at('DELETE', 'resp_1')).json(), { id: 'resp_1', deleted: true })
  t.equal((await at('DELETE', 'resp_1')).statusCode, 404)
  t.equal((await at('GET', 'resp_1')).statusCode, 404)
  const long = await ask({ store: true, input: 'x'.repeat(1024 * 1024) })
  t.match(await long.json(), { id: 'resp_4', store: false })
  t.equal((await at('GET', 'resp_4')).statusCode, 404, 'too long to be stored')
  clock.at += 30 * DAY_MS
  t.equal((await at('GET', 'resp_2')).statusCode, 404, 'thirty days are over')
})

const OWNER = { keyId: 'key_a', tenantId: 'acme' }
const responseOf = (id: string, text = '') => ({
  input: [],
  response: { id, output: [message(text)] },
})

t.test('a response of another version is returned as it is, a damaged one is an error', async t => {
  const { ledger } = await STORES.SQLite.open(t)
  const stored = new StoredResponses({ ledger, now: () => 0 })
  const newer = { input: [], response: { id: 'resp_1', output: [], novel: { depth: 2 } } }
  await stored.add(newer, OWNER)
  t.strictSame(await stored.find('resp_1', OWNER), newer)
  const damaged = JSON.stringify({ id: 'resp_1', output: 'xyzzy' })
  await ledger.free.write(trx =>
    trx.updateTable('stored_responses').set({ response_json: damaged }).execute(),
  )
  const error = await stored.find('resp_1', OWNER).catch(error => error)
  t.match(error, { code: 'internal', message: /column response_json is damaged: output: / })
  t.notMatch(error.message, 'xyzzy')
})

onEachStore('the oldest responses of a key give way to its newest', async (t, open) => {
  const { ledger } = await open()
  let at = 0
  const perKey = { responses: 5, bytes: 10_000 }
  const stored = new StoredResponses({ ledger, perKey, now: () => at })
  const listIds = async () => {
    const query = ledger.read.selectFrom('stored_responses').select('id').orderBy('created_at')
    return (await query.where('key_id', '=', OWNER.keyId).execute()).map(({ id }) => id)
  }
  await stored.add(responseOf('other'), { ...OWNER, keyId: 'key_b' })
  for (at = 1; at <= 7; at++) await stored.add(responseOf(`r${at}`), OWNER)
  t.strictSame(await listIds(), ['r3', 'r4', 'r5', 'r6', 'r7'], 'five by number')
  await stored.add(responseOf('long', 'ä'.repeat(4800)), OWNER)
  t.strictSame(await listIds(), ['r7', 'long'], 'ten thousand bytes of UTF-8')
  at++
  await stored.add(responseOf('longer', 'x'.repeat(20_000)), OWNER)
  t.strictSame(await listIds(), ['longer'], 'the newest one always stays')
  at++
  await Promise.all(
    Array.from({ length: 20 }, (_, each) => stored.add(responseOf(`p${each}`), OWNER)),
  )
  t.equal((await listIds()).length, 5, 'also of twenty at once')
  await t.rejects(stored.add(responseOf('p9'), { ...OWNER, keyId: 'key_b' }), 'an id that exists')
  t.ok(await stored.find('other', { ...OWNER, keyId: 'key_b' }), 'those of other keys stay')
})

onEachStore('responses end after thirty days, however many they are', async (t, open) => {
  const { ledger } = await open()
  let at = 0
  const stored = new StoredResponses({ ledger, now: () => at })
  for (let each = 0; each < 450; each++) await stored.add(responseOf(`r${each}`), OWNER)
  at = 1
  await stored.add(responseOf('later'), OWNER)
  await deleteEnded(ledger, 30 * DAY_MS)
  const left = await ledger.read.selectFrom('stored_responses').select('id').execute()
  t.strictSame(left, [{ id: 'later' }])
})

onEachStore('responses of a key are deleted when it is revoked', async (t, open) => {
  const { keys, store, demo, storedResponses } = await openScene(t, { store: await open() })
  const ids = [demo.pro, demo.free].map(async secret => (await keys.authenticate(secret))?.id ?? '')
  const [revoked = '', other = ''] = await Promise.all(ids)
  for (const keyId of [revoked, other])
    await storedResponses.add(responseOf(`of ${keyId}`), { keyId, tenantId: 'demo' })
  await keys.revoke(revoked, 'all', BY)
  const left = await waitUntil('they are deleted', async () => {
    const rows = await store.ledger.read.selectFrom('stored_responses').select('key_id').execute()
    return rows.length < 2 && rows
  })
  t.strictSame(left, [{ key_id: other }])
})
