import t from 'tap'
import { createTenant } from '../../../../coordinator/access/people/tenants.ts'
import { createCallLimits } from '../../../../coordinator/access/quota/call-limits.ts'
import type { Views } from '../../../../coordinator/assembly/coordinator.ts'
import { parseInput } from '../../../../coordinator/calls/invoke/input.ts'
import { createMonitor } from '../../../../coordinator/fleet/alerts/monitor.ts'
import { Fleet } from '../../../../coordinator/fleet/cells/fleet.ts'
import cellsConfigSet from '../../../../coordinator/fleet/cells/operations/cells-config-set.ts'
import { createCellSettings } from '../../../../coordinator/fleet/enrolment/cell-settings.ts'
import { Cells } from '../../../../coordinator/fleet/enrolment/cells.ts'
import { createToken } from '../../../../coordinator/fleet/enrolment/join-tokens.ts'
import { createTokenViews } from '../../../../coordinator/fleet/enrolment/open.ts'
import { skills } from '../../../../coordinator/surfaces/catalogue/skills.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { appWith, keyOfTier, views } from '../../../support/app.ts'
import { silent } from '../../../support/cell.ts'
import { BY, temporaryStore } from '../../kernel/store/temporary.ts'

const bearer = (key: string) => ({ authorization: `Bearer ${key}` })

t.test('operations over REST', async t => {
  const store = await temporaryStore(t)
  await createTenant(store.ledger, { id: 'home', name: 'home' }, BY)
  const cells = new Cells({ store, logger: silent })
  const fleet = new Fleet({
    limits: { suspectAfterMs: 1, deadAfterMs: 2 },
    nowMs: () => 0,
    onPresenceChange: () => {},
  })
  const { secret } = await createToken(store.ledger, { uses: 1, ttlMinutes: 5 }, { actor: 'test' })
  const { cellId } = await cells.enrol({ token: secret, name: 'one' })
  fleet.admit(cellId, 0)
  const settings = createCellSettings(store, () => 0)
  const monitor = await createMonitor({
    runtime: systemRuntime,
    store,
    logger: silent,
    cells: () => fleet.cells(),
    now: () => 0,
    nowMs: () => 0,
    events: { addWithin: async () => {} },
  })
  const identity = { fingerprint: () => undefined } as unknown as Views['identity']
  const app = await appWith({
    views: views({
      fleet,
      cells,
      settings,
      identity,
      monitor,
      tokens: createTokenViews(store, Date.now),
    }),
  })
  t.teardown(() => app.close())

  for (const [title, key, method, url, status, code] of [
    ['without a key is 401', '', 'GET', '/v1/cells', 401, 'auth_required'],
    ['of a client is 403', 'pro-key', 'GET', '/v1/cells', 403, 'forbidden'],
    [
      'that an operator of another role asks is 403',
      'reviewer-key',
      'GET',
      '/v1/tokens',
      403,
      'forbidden',
    ],
    [
      'on a cell that is not there is 404',
      'reviewer-key',
      'GET',
      '/v1/cells/cell_x',
      404,
      'not_found',
    ],
    [
      'with an unknown field is 422',
      'reviewer-key',
      'GET',
      '/v1/cells?x=1',
      422,
      'invalid_request',
    ],
    ...['constructor=1', '__proto__=1', 'x=00', 'x=1&x=2'].map(
      query =>
        [
          `with ?${query} is 422`,
          'admin-key',
          'GET',
          `/v1/cells?${query}`,
          422,
          'invalid_request',
        ] as const,
    ),
    [
      'whose field comes in path and query is 422',
      'reviewer-key',
      'GET',
      '/v1/cells/a?cell_id=b',
      422,
      'invalid_request',
    ],
    [
      'for a number that is none is 422',
      'admin-key',
      'GET',
      '/v1/commands?limit=00',
      422,
      'invalid_request',
    ],
    ['for a skill that is not there is 404', 'pro-key', 'GET', '/v1/skills/x', 404, 'not_found'],
  ] as const)
    t.test(`one ${title}`, async t => {
      const headers = key === '' ? {} : bearer(key)
      const response = await app.inject({ method, url, headers })
      t.equal(response.statusCode, status)
      t.equal(response.json().error.code, code)
    })

  t.test('an invalid number in a query is refused with its fault', async t => {
    for (const [limit, message] of [
      ['0', 'limit: must be at least 1'],
      ['100000', 'limit: must be at most 200'],
      ['5.5', 'limit: must be an integer'],
      ['many', 'limit: must be a number'],
    ] as const) {
      const url = `/v1/commands?limit=${limit}`
      const response = await app.inject({ url, headers: bearer('admin-key') })
      t.match(response.json().error, { code: 'invalid_request', param: 'limit', message }, limit)
    }
  })

  t.test('cells are listed and shown, with null for unknown values', async t => {
    const list = await app.inject({ url: '/v1/cells', headers: bearer('reviewer-key') })
    t.match(list.json(), { cells: [{ id: cellId, name: 'one', presence: 'unknown', models: [] }] })
    const show = await app.inject({ url: `/v1/cells/${cellId}`, headers: bearer('reviewer-key') })
    t.match(show.json(), {
      id: cellId,
      host: null,
      sample: null,
      gpus: [],
      link_round_trip_ms: null,
    })
  })

  t.test('skills are listed and shown, and an unknown one is not called', async t => {
    const headers = { ...bearer('pro-key'), 'content-type': 'application/json' }
    const list = await app.inject({ url: '/v1/skills', headers })
    t.strictSame(
      list.json().skills.map(({ id }: { id: string }) => id),
      skills.map(({ id }) => id),
    )
    const shown = await app.inject({ url: '/v1/skills/vram-guard', headers })
    t.match(shown.json(), {
      id: 'vram-guard',
      access: 'operator',
      effect: 'read',
      roles: null,
      input_schema: { type: 'object', properties: {} },
      output_schema: { type: 'object', properties: { alerts: { type: 'array' } } },
      examples: [],
    })
    const called = await app.inject({ method: 'POST', url: '/v1/skills/x', headers, payload: '{}' })
    t.equal(called.statusCode, 404)
    t.match(called.json().error, { code: 'not_found', message: /no skill x/ })
  })

  t.test('a token is created, listed without its secret and revoked', async t => {
    const headers = { ...bearer('admin-key'), 'content-type': 'application/json' }
    const made = await app.inject({
      method: 'POST',
      url: '/v1/tokens',
      headers,
      payload: '{"ttl_minutes":5}',
    })
    t.match(made.json(), { uses: 1, uses_left: 1, secret: /^shl_join_/ })
    const { tokens } = (await app.inject({ url: '/v1/tokens', headers })).json()
    t.notOk(tokens.some((token: object) => 'secret' in token))
    const { id } = made.json()
    const ended = await app.inject({
      method: 'DELETE',
      url: `/v1/tokens/${id}`,
      headers: bearer('admin-key'),
    })
    t.strictSame(ended.json(), { id })
  })

  t.test('a range is enforced', async t => {
    const headers = { ...bearer('admin-key'), 'content-type': 'application/json' }
    for (const payload of ['{"ttl_minutes":0}', '{"ttl_minutes":"5"}', '[]', '{"uses":0}']) {
      const response = await app.inject({ method: 'POST', url: '/v1/tokens', headers, payload })
      t.equal(response.statusCode, 422, payload)
    }
  })

  t.test('a revoked cell is removed for good, and the audit names the actor', async t => {
    const url = `/v1/cells/${cellId}`
    const response = await app.inject({ method: 'DELETE', url, headers: bearer('admin-key') })
    t.equal(response.statusCode, 200)
    const shown = await app.inject({ url, headers: bearer('admin-key') })
    t.equal(shown.json().presence, 'revoked')
    for (const [query, shownIds] of [
      ['', []],
      ['?all=false', []],
      ['?all=true', [cellId]],
    ] as const) {
      const list = await app.inject({ url: `/v1/cells${query}`, headers: bearer('admin-key') })
      const ids = list.json().cells.map(({ id }: { id: string }) => id)
      t.strictSame(ids, shownIds, `the list ${query}`)
    }
    const rows = store.ledger.read.selectFrom('audit').select(['actor', 'subject'])
    const row = await rows.where('action', '=', 'cell.revoke').executeTakeFirst()
    t.strictSame(row, { actor: 'key:key-admin', subject: cellId })
  })
})

t.test('a key may make 60 calls in any minute, an operator 300', async t => {
  const clock = { ms: 0 }
  const count = createCallLimits({ ticks: () => clock.ms })
  const client = keyOfTier('pro')
  const operator = { ...client, roles: ['reviewer' as const] }
  for (let i = 0; i < 60; i++) count('a', client)
  t.throws(() => count('a', client), { code: 'rate_limited', retryAfterSeconds: 60 })
  for (let i = 0; i < 300; i++) count('b', operator)
  t.throws(() => count('b', operator), { code: 'rate_limited' })
  clock.ms = 60_001
  t.doesNotThrow(() => count('a', client))
})

t.test('a call with an unknown field lists the known ones, also of an object inside', async t => {
  const set = (input: object) => () => parseInput(cellsConfigSet, { cell_id: 'cell_1', ...input })
  t.throws(set({ document: { envelope: {} } }), {
    param: 'document.envelope',
    message: /^unknown field document\.envelope; known fields: telemetry, .*envelopes/,
  })
  t.throws(set({ document: {}, version: 1 }), { message: /known fields: .*document, if_version$/ })
})
