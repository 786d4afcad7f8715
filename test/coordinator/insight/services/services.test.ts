import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createAsk } from '../../../../coordinator/insight/services/probe.ts'
import { asSendError } from '../../../../shared/outbound/send-error.ts'
import { a2aScene, askUntil, caller } from '../../../support/a2a.ts'
import { startStandIns } from '../../../support/stand-in-services.ts'
import { dropGuards } from '../../kernel/audit/guarding.ts'
import { BY, temporaryFolder } from '../../kernel/store/temporary.ts'

const scene = async (t: Test, keycloak: object = {}) => {
  const standIns = await startStandIns(t)
  const { url } = standIns
  const token_file = join(await temporaryFolder(t), 'token')
  await writeFile(token_file, 'syt_secret\n')
  const config = {
    services: {
      keycloak: { url, repair_url: `${url}/repair`, ...keycloak },
      // nothing listens on the port for tcpmux here
      cockpit: { url: 'http://127.0.0.1:1/health' },
    },
    notices: {
      matrix: { homeserver_url: url, room_id: '!ops:acme-corp.com', token_file },
      webhook_url: `${url}/notice`,
    },
    chat_servers: { demo: { url }, other: { url } },
  }
  const opened = await a2aScene(t, { config })
  const { demo } = opened
  const as = (key: string) => async (id: string, input: object) =>
    caller(opened.url, key).json(`/v1/skills/${id}`, input)
  return { ...opened, config, standIns, ask: as(demo.operator), as }
}

t.test('a service is asked for its health', async t => {
  const { ask, standIns } = await scene(t)
  const { keycloak } = standIns
  const check = (more: object = {}) =>
    ask('cockpit-health-check', { service_id: 'keycloak', dry_run: true, ...more })
  const shallow = await check()
  t.match(shallow, { status: 200, json: { state: 'up', data_state: 'live', reason: null } })
  t.equal(shallow.json.checks.length, 5)
  t.equal((await check({ deep_check: true })).json.checks.length, 13)

  keycloak.realms.pop()
  t.match((await check()).json, { state: 'degraded', reason: 'realm partners: it answered 404' })
  keycloak.isReady = false
  t.match((await check()).json, { state: 'down', repair: { state: 'dry_run', run_id: null } })
  const api = await ask('cockpit-health-check', { service_id: 'iio_api' })
  t.match(api.json, { state: 'degraded', reason: 'health: it reports unavailable' })
  t.match((await ask('cockpit-health-check', {})).json, {
    state: 'down',
    repair: { state: 'not_configured' },
  })
})

t.test('checks of Keycloak ask the configured realms', async t => {
  const { ask, standIns } = await scene(t, { realms: ['partners'] })
  // the others do not exist
  standIns.keycloak.realms.splice(0, standIns.keycloak.realms.length, 'partners')
  const { json } = await ask('cockpit-health-check', { service_id: 'keycloak' })
  t.match(json, { state: 'up', checks: [{ name: 'health' }, { name: 'realm partners' }] })
  t.equal(json.checks.length, 2)
  const suite = async (realms: object) =>
    (await ask('run-test-suite', { scope: 'auth', ...realms })).json.cases.find(
      ({ id }: { id: string }) => id === 'service-keycloak',
    )
  t.match(await suite({}), { outcome: 'passed' })
  t.match(await suite({ realms: 'partners,elsewhere' }), { outcome: 'failed' })
})

t.test('a service that is up, unknown or foreign is never repaired', async t => {
  const { ask } = await scene(t)
  t.match(await ask('repair-trigger', { service_id: 'keycloak' }), {
    status: 200,
    json: { repair: 'not_needed', job_id: null },
  })
  t.match((await ask('repair-trigger', { service_id: 'cockpit' })).json, {
    repair: 'not_configured',
  })
  t.match(await ask('repair-trigger', { service_id: 'printer' }), {
    status: 422,
    json: { error: { param: 'service_id', message: /known: cockpit, keycloak, iio_api/ } },
  })
})

t.test('the operators hear once of a service that is down and has no repair', async t => {
  const { ask } = await scene(t)
  const check = async (more: object = {}) => (await ask('cockpit-health-check', more)).json.repair
  t.match(await check({ notify_on_down: false }), { notice_job_ids: [] })
  t.match(await check({ dry_run: true }), { notice_job_ids: [] })
  const first = await check()
  t.match(first, { state: 'not_configured', notice_job_ids: [/^job_/, /^job_/] })
  t.strictSame(await check(), first, 'the jobs are those of the first notice')
})

t.test('a service that is down gets one repair, after an approval', async t => {
  const { ask, standIns, url, demo } = await scene(t)
  standIns.keycloak.isReady = false
  const first = await ask('cockpit-health-check', { service_id: 'keycloak' })
  const { run_id, incident_id } = first.json.repair
  t.equal(first.json.repair.state, 'started')
  const again = await ask('cockpit-health-check', { service_id: 'keycloak' })
  t.match(again.json.repair, { run_id, incident_id }, 'one incident has one repair')
  t.equal(again.json.repair.request_id, first.json.repair.request_id)

  const { json } = caller(url, demo.operator)
  const waiting = await askUntil(
    () => json(`/v1/flows/runs/${run_id}`),
    ({ json }) => json.state === 'waiting',
  )
  const [call] = waiting.json.calls
  t.equal(first.json.repair.request_id, call.gate_request_id, 'the request to approve')
  t.equal(standIns.got.filter(({ path }) => path === '/repair').length, 0)
  const path = `/v1/gates/requests/${call.gate_request_id}`
  await ask('repair-trigger', { service_id: 'keycloak', failure: 'a user reports it' })
  t.match((await json(path)).json, { gate_id: 'gate.repair-run', state: 'pending' })
  await caller(url, demo.approver_a).json(`${path}/approve`, {})
  await askUntil(
    () => json(`/v1/flows/runs/${run_id}`),
    ({ json }) => json.state === 'done',
  )
  const sent = await askUntil(
    async () => standIns.got,
    got =>
      got.some(({ path }) => path === '/repair') &&
      got.some(({ path }) => path === '/notice') &&
      got.some(({ method }) => method === 'PUT'),
  )
  t.match(sent.find(({ path }) => path === '/repair')?.body, {
    service_id: 'keycloak',
    incident_id,
  })
  const notices = sent.filter(({ method }) => method === 'PUT')
  t.equal(notices.length, 1, 'the room is told once')
  t.match(notices[0], {
    path: /^\/_matrix\/client\/v3\/rooms\/!ops%3Aacme-corp.com\/send\/m.room.message\/job_/,
    headers: { authorization: 'Bearer syt_secret' },
    body: { msgtype: 'm.notice', body: /keycloak is down \(health: it answered 503\)/ },
  })
})

t.test('the daily status names services that are down and runs that failed', async t => {
  const { ask, standIns, url, demo } = await scene(t)
  const whats = async () =>
    (await ask('ops-daily-status', {})).json.attention.map(({ what }: { what: string }) => what)
  const healthy = await whats()
  t.ok(healthy.some((what: string) => what.startsWith('Service cockpit is down (')))
  t.notOk(healthy.some((what: string) => /keycloak|Runs of flows/.test(what)))
  standIns.keycloak.isReady = false
  const { repair } = (await ask('cockpit-health-check', { service_id: 'keycloak' })).json
  const { json } = caller(url, demo.operator)
  const waiting = await askUntil(
    () => json(`/v1/flows/runs/${repair.run_id}`),
    ({ json }) => json.state === 'waiting',
  )
  const path = `/v1/gates/requests/${waiting.json.calls[0].gate_request_id}`
  await caller(url, demo.approver_a).json(`${path}/reject`, { reason: 'not now' })
  await askUntil(
    () => json(`/v1/flows/runs/${repair.run_id}`),
    ({ json }) => json.state === 'failed',
  )
  const job = await askUntil(
    () => json(`/v1/queue/jobs/${repair.job_id}`),
    ({ json }) => json.state !== 'running',
  )
  t.match(job.json, { state: 'dead', reason: /^failed: keycloak: / }, 'it is no job that is done')
  const again = await ask('cockpit-health-check', { service_id: 'keycloak' })
  t.match(again.json.repair, { state: 'ended', run_id: repair.run_id }, 'it is not asked again')
  const after = await whats()
  t.ok(after.includes('Service keycloak is down (health: it answered 503)'))
  t.ok(after.includes('Runs of flows that failed within 24 hours: 1'))
})

t.test('each tenant sees the state of its own chat server', async t => {
  const { as, demo } = await scene(t)
  const status = async (key: string) => (await as(key)('get_tenant_chat_status', {})).json
  t.match(await status(demo.operator), {
    data_state: 'live',
    up: 1,
    total: 1,
    servers: [{ tenant_id: 'demo', software: 'Synapse 1.118.0', login_flows: ['m.login.sso'] }],
  })
  t.match(await status(demo.stranger), { total: 1, servers: [{ tenant_id: 'other' }] })
})

t.test('without flows, the answers say where to declare them', async t => {
  const { ask } = await scene(t)
  for (const skill of ['find-flow', 'get_synergy_health'])
    t.match((await ask(skill, {})).json, { data_state: 'empty', to_load: /docs\/flows\.md/ })
})

t.test('the test suite runs real checks and names what it skips', async t => {
  const { ask, standIns } = await scene(t)
  const suite = (input: object) => ask('run-test-suite', input)
  const outcomes = async (input: object) =>
    Object.fromEntries(
      (await suite(input)).json.cases.map(({ id, outcome }: { id: string; outcome: string }) => [
        id,
        outcome,
      ]),
    )
  t.match(await outcomes({ scenario: 'keycloak-full', scope: 'auth' }), {
    'service-keycloak': 'passed',
    access: 'passed',
    'access-wrong-key': 'passed',
    'access-revoked-key': 'skipped',
  })
  standIns.keycloak.isReady = false
  t.match(await outcomes({ scenario: 'full-stack' }), {
    'service-keycloak': 'failed',
    'service-cockpit': 'failed',
    'chat-servers': 'passed',
    cells: 'skipped',
    store: 'passed',
  })
  const dry = await suite({ scenario: 'regression', dry_run: true })
  t.match(dry.json, { passed: 0, failed: 0, skipped: 0 })
  t.ok(dry.json.cases.length > 20)
  t.match(await suite({ realms: 'a b' }), { status: 422, json: { error: { param: 'realms' } } })
})

t.test('the test suite tries a wrong and a revoked key, and adds nothing', async t => {
  const { ask, url, demo, views } = await scene(t)
  const { json } = caller(url, demo.operator)
  const stray = await views.keys.asNow(demo.approver_a.slice(8, 16))
  const keyCase = async (id: string) =>
    (await ask('run-test-suite', { scope: 'auth' })).json.cases.find(
      (each: { id: string }) => each.id === id,
    )
  t.match(await keyCase('access-revoked-key'), { outcome: 'skipped', reason: /is revoked/ })
  await views.keys.revoke(String(stray?.id), { tenantId: 'demo' }, BY)
  const head = (await json('/v1/audit/verify')).json.head.seq
  t.match(await keyCase('access-revoked-key'), { outcome: 'passed' })
  t.match(await keyCase('access-wrong-key'), { outcome: 'passed' })
  t.equal((await json('/v1/audit/verify')).json.head.seq, head)

  views.keys.asNow = async () => stray
  t.match(await keyCase('access-revoked-key'), { outcome: 'failed', reason: /is valid$/ })
})

t.test('the test suite fails when a row of the audit is changed', async t => {
  const { ask, store } = await scene(t)
  const audit = async () =>
    (await ask('run-test-suite', { scenario: 'full-stack', scope: 'magic' })).json.cases.find(
      ({ id }: { id: string }) => id === 'audit',
    )
  t.match(await audit(), { outcome: 'passed' })
  await store.ledger.sealed.write(async trx => {
    await dropGuards(trx)
    await trx.updateTable('audit').set({ actor: 'x' }).where('seq', '=', 1).execute()
  })
  t.match(await audit(), { outcome: 'failed', reason: /^the chain is broken at row 1: / })
})

t.test('two coordinators that see one outage start one repair and send one notice', async t => {
  const one = await scene(t)
  const { store, demo, standIns, config } = one
  const two = await a2aScene(t, { from: { store, demo }, config })
  standIns.keycloak.isReady = false
  const look = ({ url }: { url: string }) =>
    caller(url, demo.operator).json('/v1/skills/cockpit-health-check', { service_id: 'keycloak' })
  const seen = await Promise.all([one, two, one, two].map(look))
  const repairs = seen.map(({ json }) => json.repair)
  t.match(repairs[0], { state: 'started', run_id: /^run_/ })
  for (const repair of repairs) t.strictSame(repair, repairs[0])

  const { json } = caller(two.url, demo.operator)
  const { flows, queue } = one.views
  const [{ run_id, notice_job_ids }] = repairs
  await askUntil(
    () => flows.run(run_id, 'demo'),
    ({ state }) => state === 'waiting',
  )
  const readJobs = () =>
    Promise.all(notice_job_ids.map((id: string) => queue.get(id, { tenantId: 'demo' })))
  const jobs = await askUntil(readJobs, found => found.every(({ state }) => state === 'done'))
  t.equal(jobs.length, 2, 'one for the room and one for the webhook')
  t.equal((await json('/v1/flows/runs?flow=service-repair')).json.runs.length, 1)
  const { requests } = (await json('/v1/gates/requests')).json
  t.match(requests, [{ gate_id: 'gate.repair-run' }])
  t.equal(requests.length, 1)
  const sent = standIns.got.filter(({ path }) => /_matrix.*send|^\/notice/.test(path))
  t.strictSame(sent.map(({ method }) => method).toSorted(), ['POST', 'PUT'])
})

t.test('a service that answers neither up nor down starts nothing', async t => {
  const { url, got } = await startStandIns(t)
  const { url: own, demo } = await a2aScene(t, {
    config: {
      services: { cockpit: { url: `${url}/void`, repair_url: `${url}/repair` } },
      notices: { webhook_url: `${url}/notice` },
    },
  })
  const { json } = caller(own, demo.operator)
  const reason = 'health: it answered 404'
  t.match((await json('/v1/skills/cockpit-health-check', {})).json, {
    state: 'unknown',
    reason,
    repair: { state: 'not_needed', run_id: null, job_id: null, notice_job_ids: [] },
  })
  t.match((await json('/v1/skills/repair-trigger', { service_id: 'cockpit' })).json, {
    repair: 'unknown',
    job_id: null,
  })
  t.strictSame((await json('/v1/flows/runs')).json.runs, [])
  t.strictSame((await json('/v1/gates/requests')).json.requests, [])
  t.strictSame((await json('/v1/queue/jobs')).json.jobs, [])
  t.strictSame([...new Set(got.map(({ path }) => path))], ['/void'])
})

t.test('a host that cannot be reached says nothing about its service', async t => {
  const signal = AbortSignal.timeout(60_000)
  for (const [code, state] of [
    ['ECONNREFUSED', 'down'],
    ['EHOSTUNREACH', 'unknown'],
    ['ENETUNREACH', 'unknown'],
    ['CERT_HAS_EXPIRED', 'unknown'],
  ] as const) {
    const send = async () => {
      throw asSendError(Object.assign(new Error(code), { code }))
    }
    const ask = createAsk({ send }, () => 0)
    t.match(await ask({ name: 'health', url: 'http://acme-corp.com' }, signal), { state }, code)
  }
})
