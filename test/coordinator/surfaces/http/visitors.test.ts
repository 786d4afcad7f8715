import t, { type Test } from 'tap'
import { newSecret } from '../../../../coordinator/access/keys/secret.ts'
import { governanceScene } from '../../../support/governance.ts'
import { auditRows } from '../../access/keys/fixtures.ts'
import { BY } from '../../kernel/store/temporary.ts'

const CLAIM_PREFIX = 'shl_claim_'

const ADA = { name: 'Ada', contact: 'ada@example.org', purpose: 'a chat for our club' }
const HOUR_MS = 3_600_000

const scene = async (t: Test, settings: object = {}) => {
  const clock = { now: Date.now() }
  const now = () => clock.now
  const all = await governanceScene(t, { settings: { public_request: true, ...settings }, now })
  const { call, demo } = all
  const apply = (body: object = ADA) => call(undefined, 'POST', '/v1/keys/requests', body)
  const claim = (id: string, claim_token: string) =>
    call(undefined, 'POST', `/v1/keys/requests/${id}/claim`, { claim_token })
  const decide = (id: string, how = 'approve') =>
    call(demo.approver_a, 'POST', `/v1/gates/requests/${id}/${how}`, { reason: 'by my word' })
  return { ...all, clock, apply, claim, decide }
}

t.test('a visitor gets an approved key once, with the claim token', async t => {
  const { apply, claim, decide, call, demo, store } = await scene(t)
  const asked = await apply()
  t.match(asked, {
    status: 202,
    json: {
      status: 'pending',
      gate_id: 'gate.developer-api-key-approve',
      claim_token: /^shl_claim_[0-9A-Za-z_]{58}$/,
    },
  })
  const { request_id: id, claim_token: token } = asked.json
  const command = `shoal keys claim ${id} --claim-token TOKEN`
  t.ok(asked.json.next.endsWith(command), 'it says what to type')
  const waits = await claim(id, token)
  t.match(waits, { status: 202, json: { request_id: id } })
  t.ok(waits.json.next.endsWith(command))
  t.notOk('claim_token' in waits.json)

  const seen = await call(demo.approver_a, 'GET', `/v1/gates/requests/${id}`)
  t.match(seen.json, {
    summary:
      'free key (person: client) for a visitor without a key, who says: "Ada", "reached at ada@example.org", "a chat for our club"',
    requester_id: /^visitor:/,
  })
  t.equal((await decide(id)).json.state, 'approved')
  const shown = await claim(id, token)
  t.match(shown, { status: 200, json: { tier: 'free', roles: ['client'], tenant_id: 'demo' } })
  const own = await call(shown.json.secret, 'GET', '/v1/keys')
  t.match(own, { status: 200, json: { keys: [{ id: shown.json.id }] } })
  t.equal(own.json.keys.length, 1, 'the visitor is a person of their own')
  t.match(await claim(id, token), { status: 409, json: { error: { message: /already revealed/ } } })

  const rows = await store.ledger.read.selectFrom('key_claims').selectAll().execute()
  const kept = JSON.stringify([rows, await auditRows(store)])
  for (const secret of [token, shown.json.secret])
    t.notOk(kept.includes(secret.slice(-40)), 'neither secret is kept')
})

t.test('a visitor cannot become a person with a role without an administrator', async t => {
  const { apply, claim, decide, call, demo } = await scene(t)
  const { request_id: id, claim_token: token } = (await apply()).json
  await decide(id)
  const { secret, person_id } = (await claim(id, token)).json
  const wanted = { tier: 'free', roles: ['client', 'architect'] }
  t.match(await call(secret, 'POST', '/v1/keys', wanted), {
    status: 403,
    json: { error: { code: 'forbidden', message: /administrator/ } },
  })
  t.equal((await call(secret, 'POST', '/v1/keys', { tier: 'free' })).status, 202, 'without: yes')
  const byAdmin = await call(demo.approver_a, 'POST', '/v1/keys', { ...wanted, person_id })
  t.equal(byAdmin.status, 202)
  t.equal((await decide(byAdmin.json.request_id)).status, 403, 'it takes two administrators')
})

t.test('a public request is refused unless it is enabled and its tenant exists', async t => {
  for (const settings of [{ public_request: false }, { public_tenant: 'nowhere' }]) {
    const { apply } = await scene(t, settings)
    t.match(await apply(), { status: 401, json: { error: { code: 'auth_required' } } })
  }
  const { apply, keys } = await scene(t)
  await keys.enableTenant('demo', false, BY)
  t.equal((await apply()).status, 401)
})

t.test('a caller with a key cannot request as a visitor', async t => {
  const { call, demo } = await scene(t)
  t.equal((await call(demo.free, 'POST', '/v1/keys/requests', ADA)).status, 409)
})

t.test('a claim without its own token learns nothing', async t => {
  const { apply, claim, call, demo } = await scene(t)
  const [one, two] = [(await apply()).json, (await apply()).json]
  const byKey = (await call(demo.free, 'POST', '/v1/keys', { tier: 'pro' })).json
  const invented = newSecret(CLAIM_PREFIX).text
  const sameId = newSecret(CLAIM_PREFIX, one.claim_token.slice(10, 18)).text
  const answers = [
    await claim(one.request_id, two.claim_token),
    await claim(one.request_id, invented),
    await claim(one.request_id, sameId),
    await claim(one.request_id, 'nonsense'),
    await claim(byKey.request_id, one.claim_token),
    await claim('gate_00000000000000000000000000', invented),
  ]
  for (const { status, json } of answers)
    t.match([status, json.error.message], [404, /^no request gate_\w+ with this claim token$/])
  t.equal((await claim(one.request_id, one.claim_token)).status, 202)
})

t.test('the outcome of a request is reported, but not the approver', async t => {
  const { apply, claim, decide } = await scene(t)
  const { request_id: id, claim_token: token } = (await apply()).json
  await decide(id, 'reject')
  const answer = await claim(id, token)
  t.match(answer, { status: 409, json: { error: { message: 'the request was rejected' } } })
})

t.test('an approval that is not claimed in time expires together with the token', async t => {
  const { apply, claim, decide, clock } = await scene(t)
  const { request_id: id, claim_token: token } = (await apply()).json
  await decide(id)
  clock.now += 25 * HOUR_MS
  t.match(await claim(id, token), { status: 409, json: { error: { message: /expired/ } } })
  clock.now += 24 * HOUR_MS
  t.equal((await claim(id, token)).status, 404)
})

t.test('a tenant that has since been disabled issues no key', async t => {
  const { apply, claim, decide, keys } = await scene(t)
  const { request_id: id, claim_token: token } = (await apply()).json
  await decide(id)
  await keys.enableTenant('demo', false, BY)
  t.equal((await claim(id, token)).status, 403, 'who approved may no longer approve')
  await keys.enableTenant('demo', true, BY)
  t.equal((await claim(id, token)).status, 200)
})

t.test('the number of visitor requests is limited', async t => {
  t.test('for an address', async t => {
    const { apply, clock } = await scene(t, { public_per_hour: 2 })
    t.equal((await apply()).status, 202)
    clock.now += HOUR_MS / 2
    t.equal((await apply()).status, 202)
    t.match(await apply(), { status: 429, json: { error: { code: 'rate_limited' } } })
    clock.now += HOUR_MS / 2
    t.equal((await apply()).status, 202)
  })

  t.test('in total, until one is decided', async t => {
    const { apply, decide, clock } = await scene(t, { public_per_hour: 100, public_open: 2 })
    const answers = await Promise.all([apply(), apply(), apply(), apply()])
    t.strictSame(answers.map(({ status }) => status).toSorted(), [202, 202, 429, 429])
    const made = answers.find(({ status }) => status === 202)
    await decide(made?.json.request_id, 'reject')
    t.equal((await apply()).status, 202)
    t.equal((await apply()).status, 429)
    clock.now += 25 * HOUR_MS
    t.equal((await apply()).status, 202, 'those that expired make room')
  })
})

t.test('hidden characters do not reach the approvers', async t => {
  const { apply, call, demo } = await scene(t)
  const asked = await apply({ ...ADA, name: 'A\u202eda', purpose: 'one\ntwo' })
  const seen = await call(demo.approver_a, 'GET', `/v1/gates/requests/${asked.json.request_id}`)
  t.match(seen.json.summary, /"A\\\\u\{202e\}da"/)
  t.notMatch(`${seen.json.summary}${seen.json.plan_text}`, /[\u202e\n]/)
  for (const [field, value] of [
    ['name', ''],
    ['name', 'x'.repeat(201)],
    ['name', '\u202e'.repeat(100)],
    ['purpose', 'x'.repeat(501)],
    ['tier', 'gold'],
    ['roles', ['operator_admin']],
  ] as const)
    t.match(
      await apply({ ...ADA, [field]: value }),
      { status: 422, json: { error: { param: field } } },
      field,
    )
})
