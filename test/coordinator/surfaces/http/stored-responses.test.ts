import t from 'tap'
import { StoredResponses } from '../../../../coordinator/gateway/responses/stored-responses.ts'
import { openStore } from '../../../../coordinator/kernel/store/store.ts'
import { DAY_MS } from '../../../../shared/time.ts'
import { keyOfTier } from '../../../support/app.ts'
import { endWithUsage } from '../../../support/cell.ts'
import { rig } from '../../../support/front-rig.ts'

const message = (text: string) => ({
  id: 'msg_1',
  type: 'message',
  status: 'completed',
  role: 'assistant',
  content: [{ type: 'output_text', text, annotations: [], logprobs: [] }],
})

/** The real front and store before a cell that answers each request with a response of its own. */
const start = async () => {
  const store = await openStore(t.testdir())
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
  t.teardown(() => store.close())
  const at = (method: 'GET' | 'DELETE', id: string, key = 'pro-key') =>
    front.app.inject({
      method,
      url: `/v1/responses/${id}`,
      headers: { authorization: `Bearer ${key}` },
    })
  return { ...front, at, clock, store }
}

t.test('a response is stored on request, continued, shown and deleted', async t => {
  const { post, seen, at, clock } = await start()
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
