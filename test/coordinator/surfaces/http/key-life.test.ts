import t, { type Test } from 'tap'
import { governanceScene } from '../../../support/governance.ts'
import { BY } from '../../kernel/store/temporary.ts'

const DEMO = { tenantId: 'demo' }
const DAY_MS = 86_400_000

/** A key that was asked for and approved, and not read yet. */
const createApprovedKey = async (
  t: Test,
  wanted: object = {},
  asker: 'free' | 'operator' = 'free',
) => {
  const clock = { now: Date.now() }
  const all = await governanceScene(t, { now: () => clock.now })
  const { demo, call } = all
  const asked = await call(demo[asker], 'POST', '/v1/keys', { tier: 'pro', ...wanted })
  const id: string = asked.json.request_id
  await call(demo.approver_a, 'POST', `/v1/gates/requests/${id}/approve`)
  const reveal = (key: string) => call(key, 'POST', `/v1/keys/requests/${id}/reveal`)
  const idOf = async (key: string) => (await all.keys.authenticate(key))?.id ?? ''
  return { ...all, clock, reveal, idOf }
}

t.test('an approved key is not shown', async t => {
  t.test('after it has expired', async t => {
    const expires_at = new Date(Date.now() + DAY_MS / 2).toISOString()
    const { reveal, demo, clock } = await createApprovedKey(t, { expires_at })
    clock.now = Date.parse(expires_at)
    const answer = await reveal(demo.free)
    t.match(answer, { status: 422, json: { error: { param: 'expires_at' } } })
    clock.now--
    t.equal((await reveal(demo.free)).status, 200, 'nothing was used up')
  })

  t.test('for a person who has since been disabled', async t => {
    const wanted = { person_id: 'demo_pro' }
    const { reveal, demo, keys } = await createApprovedKey(t, wanted, 'operator')
    await keys.enablePerson('demo_pro', false, DEMO, BY)
    const answer = await reveal(demo.operator)
    t.match(answer, { status: 422, json: { error: { param: 'person_id' } } })
    await keys.enablePerson('demo_pro', true, DEMO, BY)
    t.equal((await reveal(demo.operator)).status, 200)
  })

  t.test('when its approver has since been disabled', async t => {
    const { reveal, demo, keys } = await createApprovedKey(t)
    await keys.enablePerson('demo_approver_a', false, DEMO, BY)
    const answer = await reveal(demo.free)
    t.match(answer, { status: 403, json: { error: { message: /may no longer approve/ } } })
  })

  t.test('for an additional tenant that has since been disabled', async t => {
    const { demo, call, keys } = await governanceScene(t)
    await call(demo.operator, 'POST', '/v1/tenants', { id: 'new', name: 'new' })
    const wanted = { tier: 'pro', further_tenants: ['new'] }
    const asked = await call(demo.operator, 'POST', '/v1/keys', wanted)
    const id: string = asked.json.request_id
    await call(demo.approver_a, 'POST', `/v1/gates/requests/${id}/approve`)
    await keys.enableTenant('new', false, BY)
    const answer = await call(demo.operator, 'POST', `/v1/keys/requests/${id}/reveal`)
    t.match(answer, { status: 422, json: { error: { message: 'no tenant new' } } })
  })

  t.test('to a former administrator', async t => {
    const { reveal, demo, keys } = await createApprovedKey(t, { person_id: 'demo_pro' }, 'operator')
    const lesser = await keys.create({ ...DEMO, personId: 'demo_operator', tier: 'free' }, BY)
    t.equal((await reveal(lesser.secret)).status, 403)
    t.equal((await reveal(demo.operator)).status, 200)
  })

  t.test('to a program, unless the program requested it', async t => {
    const { reveal, keys, demo } = await createApprovedKey(t, { kind: 'ci_pipeline' })
    const spec = { ...DEMO, personId: 'demo_free', tier: 'free' as const }
    const program = await keys.create({ ...spec, kind: 'ai_agent' }, BY)
    t.match(await reveal(program.secret), { status: 403, json: { error: { code: 'forbidden' } } })
    t.equal((await reveal(demo.free)).status, 200)
  })
})

t.test('an expired or revoked key gets no second secret', async t => {
  const clock = { now: Date.now() }
  const { keys } = await governanceScene(t, { now: () => clock.now })
  const at = clock.now
  const spec = { ...DEMO, personId: 'demo_free', tier: 'free' as const }
  const { key } = await keys.create({ ...spec, expiresAt: at + 50 }, BY)
  clock.now += 50
  await t.rejects(keys.rotate(key.id, DEMO, BY), { code: 'conflict', message: /has expired/ })
  await t.rejects(keys.setTier(key.id, 'pro', DEMO, BY), { code: 'conflict' })
  const past = keys.create({ ...spec, expiresAt: at - 1 }, BY)
  await t.rejects(past, { code: 'invalid_request', param: 'expiresAt' })
})

t.test('people and tenants', async t => {
  t.test('are disabled and enabled by administrators, and shown as such', async t => {
    const { demo, call } = await governanceScene(t)
    const disabled = await call(demo.operator, 'POST', '/v1/persons/demo_pro/disable')
    t.match(disabled, { status: 200, json: { id: 'demo_pro', disabled_at: /^\d{4}-/ } })
    t.equal((await call(demo.pro, 'GET', '/v1/keys')).status, 401)
    t.equal((await call(demo.free, 'GET', '/v1/keys')).status, 200)
    const again = await call(demo.operator, 'POST', '/v1/persons/demo_pro/disable')
    t.equal(again.json.disabled_at, disabled.json.disabled_at)
    const enabled = await call(demo.operator, 'POST', '/v1/persons/demo_pro/enable')
    t.match(enabled.json, { disabled_at: null })
    t.equal((await call(demo.pro, 'GET', '/v1/keys')).status, 200)
  })

  t.test('a person can disable neither themselves nor their own tenant', async t => {
    const { demo, call } = await governanceScene(t)
    t.equal((await call(demo.operator, 'POST', '/v1/persons/demo_operator/disable')).status, 403)
    t.equal((await call(demo.operator, 'POST', '/v1/tenants/demo/disable')).status, 403)
    t.equal((await call(demo.free, 'POST', '/v1/persons/demo_pro/disable')).status, 403)
  })

  t.test('a disabled tenant can be enabled by a person who may act for it', async t => {
    const { demo, call } = await governanceScene(t)
    await call(demo.operator, 'POST', '/v1/tenants', { id: 'new', name: 'new' })
    t.equal((await call(demo.operator, 'POST', '/v1/tenants/new/disable')).status, 200)
    t.match((await call(demo.operator, 'GET', '/v1/tenants')).json.tenants[1].disabled_at, /^\d/)
    t.equal((await call(demo.operator, 'POST', '/v1/tenants/new/enable')).status, 200)
    t.equal((await call(demo.stranger, 'POST', '/v1/tenants/new/enable')).status, 404)
  })
})
