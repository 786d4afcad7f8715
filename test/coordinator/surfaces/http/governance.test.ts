import t from 'tap'
import { governanceScene as scene } from '../../../support/governance.ts'

t.test('an API key', async t => {
  const { demo, call } = await scene(t)
  const wanted = { tier: 'pro', label: 'my app' }
  const asked = await call(demo.free, 'POST', '/v1/keys', wanted)
  t.equal(asked.status, 202)
  t.match(asked.json, {
    status: 'pending',
    gate_id: 'gate.developer-api-key-approve',
    plan_hash: /^[0-9a-f]{64}$/,
    next: /^once it is approved, .*shoal keys reveal gate_/,
  })
  const id: string = asked.json.request_id
  const reveal = (key: string) => call(key, 'POST', `/v1/keys/requests/${id}/reveal`)

  await t.test('is not shown before its approval', async t => {
    t.match(await reveal(demo.free), { status: 403, json: { error: { message: /is pending/ } } })
  })
  await t.test('is approved by an administrator who sees its permissions', async t => {
    const seen = await call(demo.approver_a, 'GET', `/v1/gates/requests/${id}`)
    t.match(seen.json, { summary: /pro key \(person: client\) for demo_free/, plan_text: /"pro"/ })
    const approved = await call(demo.approver_a, 'POST', `/v1/gates/requests/${id}/approve`)
    t.match(approved.json, { state: 'approved' })
  })
  await t.test('is shown once, to its requester alone', async t => {
    t.equal((await reveal(demo.approver_a)).status, 404)
    t.equal((await reveal(demo.stranger)).status, 404)
    const shown = await reveal(demo.free)
    t.match(shown, { status: 200, json: { tier: 'pro', secret: /^svc-dev-/, label: 'my app' } })
    const again = await reveal(demo.free)
    t.match(again, { status: 403, json: { error: { message: /is consumed/ } } })

    const { secret, id: keyId } = shown.json
    const listed: { id: string }[] = (await call(secret, 'GET', '/v1/keys')).json.keys
    t.ok(listed.some(({ id }) => id === keyId))
    const rotated = await call(secret, 'POST', `/v1/keys/${keyId}/rotate`)
    t.equal((await call(secret, 'GET', '/v1/keys')).status, 200, 'the old secret is still good')
    const next: string = rotated.json.secret
    t.equal((await call(next, 'POST', `/v1/keys/${keyId}/retire`)).status, 200)
    t.equal((await call(secret, 'GET', '/v1/keys')).status, 401)
    t.equal((await call(next, 'DELETE', `/v1/keys/${keyId}`)).status, 200)
    t.equal((await call(next, 'GET', '/v1/keys')).status, 401, 'revoked at once')
  })
})

t.test('a person who is alone is told that nobody can approve, and what to do', async t => {
  const { demo, call } = await scene(t)
  const ask = () => call(demo.operator, 'POST', '/v1/keys', { tier: 'pro', label: 'mine' })
  const asked = await ask()
  const path = `/v1/gates/requests/${asked.json.request_id}`
  t.notOk('hint' in asked.json, 'two others could approve')
  t.notOk('hint' in (await call(demo.operator, 'GET', path)).json)

  const disable = (person: string) =>
    call(demo.operator, 'POST', `/v1/persons/${encodeURIComponent(person)}/disable`)
  t.equal((await disable('demo approver_a')).status, 200, 'people are found by name')
  t.notOk('hint' in (await ask()).json, 'one other could still approve')
  t.equal((await disable('demo_approver_b')).status, 200, 'and by id')
  t.match((await disable('demo operator')).json, { error: { message: /disable yourself/ } })
  const hint = new RegExp(
    'nobody can approve it: gate.developer-api-key-approve needs another person with the role ' +
      'operator_admin. .*shoal-coordinator person create --tenant demo --name NAME, then ' +
      'shoal-coordinator key create .* --person NAME --role client operator_admin$',
  )
  t.match(await ask(), { status: 202, json: { hint } })
  t.match((await call(demo.operator, 'GET', path)).json, { state: 'pending', hint })
  const own = await call(demo.operator, 'POST', `${path}/approve`)
  t.equal(own.status, 403, 'nobody approves their own request')
  const requests = async (query: string): Promise<unknown[]> =>
    (await call(demo.operator, 'GET', `/v1/gates/requests?${query}`)).json.requests
  t.strictSame(await requests('others=true'), [])
  t.equal((await requests('mine=true')).length, 1)
})

t.test('a key for another person is requested by their name', async t => {
  const { demo, call } = await scene(t)
  const named = { tier: 'pro', person_id: 'demo pro' }
  const asked = await call(demo.operator, 'POST', '/v1/keys', named)
  t.match(asked, { status: 202, json: { summary: /for demo_pro, / } })
  t.equal((await call(demo.free, 'POST', '/v1/keys', named)).status, 403)
})

t.test('an inadmissible key request', async t => {
  const { demo, call } = await scene(t)
  for (const [what, key, body, status, param] of [
    ['for somebody else', demo.free, { tier: 'pro', person_id: 'demo_pro' }, 403, null],
    ['for nobody', demo.operator, { tier: 'pro', person_id: 'nobody' }, 422, 'person_id'],
    [
      'for a person of another tenant',
      demo.operator,
      { tier: 'pro', person_id: 'eve' },
      422,
      'person_id',
    ],
    [
      'into another tenant',
      demo.operator,
      { tier: 'pro', further_tenants: ['other'] },
      403,
      'further_tenants',
    ],
    [
      'that has expired',
      demo.free,
      { tier: 'pro', expires_at: '2001-01-01T00:00:00Z' },
      422,
      'expires_at',
    ],
    ['of no tier', demo.free, { tier: 'gold' }, 422, 'tier'],
  ] as const)
    await t.test(`${what} is ${status}`, async t => {
      const answer = await call(key, 'POST', '/v1/keys', body)
      t.equal(answer.status, status)
      t.equal(answer.json.error.param, param)
    })
})

t.test('a tenant sees nothing of another, and cannot distinguish absent from foreign', async t => {
  const { demo, call } = await scene(t)
  const asked = await call(demo.operator, 'POST', '/v1/keys', { tier: 'free' })
  const own = (await call(demo.pro, 'GET', '/v1/keys')).json.keys[0].id
  const foreign = [asked.json.request_id, own]
  const absent = ['gate_00000000000000000000000000', 'aaaaaaaa']
  for (const [n, [method, path]] of (
    [
      ['GET', '/v1/gates/requests/{}'],
      ['POST', '/v1/gates/requests/{}/approve'],
      ['POST', '/v1/gates/requests/{}/reject'],
      ['POST', '/v1/gates/requests/{}/withdraw'],
      ['POST', '/v1/keys/requests/{}/reveal'],
      ['DELETE', '/v1/keys/{}'],
      ['POST', '/v1/keys/{}/rotate'],
      ['POST', '/v1/keys/{}/retire'],
    ] as const
  ).entries()) {
    const which = n < 5 ? 0 : 1
    const callAt = (id = '') => call(demo.stranger, method, path.replace('{}', id))
    const [theirs, nothing] = [await callAt(foreign[which]), await callAt(absent[which])]
    t.equal(theirs.status, 404, `${method} ${path}`)
    const blank = (text: string, id = '') => text.replaceAll(id, 'ID')
    t.equal(
      blank(theirs.json.error.message, foreign[which]),
      blank(nothing.json.error.message, absent[which]),
    )
  }
  const lists = [
    ['/v1/gates/requests', 'requests', 0],
    ['/v1/keys', 'keys', 1],
    ['/v1/persons', 'persons', 1],
    ['/v1/tenants', 'tenants', 1],
  ] as const
  for (const [url, name, count] of lists)
    t.equal((await call(demo.stranger, 'GET', url)).json[name].length, count, url)
})

t.test('the creator of a tenant may act for it at once', async t => {
  const { demo, call } = await scene(t)
  const made = await call(demo.operator, 'POST', '/v1/tenants', { id: 'new', name: 'new' })
  t.match(made, { status: 200, json: { id: 'new' } })
  t.match((await call(demo.operator, 'GET', '/v1/tenants')).json.tenants, [
    { id: 'demo' },
    { id: 'new' },
  ])
  t.equal(
    (await call(demo.operator, 'POST', '/v1/tenants', { id: 'new', name: 'new' })).status,
    409,
  )
})

t.test('a join token for many machines needs approval each time', async t => {
  const { demo, call } = await scene(t)
  const ask = () => call(demo.operator, 'POST', '/v1/tokens', { uses: 500, ttl_minutes: 30 })
  const asked = await ask()
  t.match(asked, {
    status: 202,
    json: { gate_id: 'gate.cell-enroll', next: /repeat the same call/ },
  })
  t.match((await ask()).json, { request_id: asked.json.request_id }, 'asked again, it is the same')
  const { request_id } = asked.json
  await call(demo.approver_b, 'POST', `/v1/gates/requests/${request_id}/approve`)
  t.match(await ask(), { status: 200, json: { uses: 500, secret: /^shl_join_/ } })
  t.match(await ask(), { status: 202 }, 'the approval is used up')
})

t.test('a witness head needs both its number and its hash', async t => {
  const { demo, call } = await scene(t)
  const verify = (query: string) => call(demo.operator, 'GET', `/v1/audit/verify${query}`)
  const { seq, hash } = (await verify('')).json.head
  t.match(await verify(`?seq=${seq}&hash=${hash}`), { json: { ok: true } })
  t.match(await verify(`?seq=${seq}&hash=${'0'.repeat(64)}`), { json: { ok: false } })
  for (const [query, param] of [
    [`?seq=${seq}`, 'hash'],
    [`?hash=${hash}`, 'seq'],
  ] as const)
    t.match(await verify(query), { status: 422, json: { error: { param } } })
})

t.test('REST returns the governance checks and compliance reports', async t => {
  const { demo, call, text } = await scene(t)
  const checks = await call(demo.operator, 'GET', '/v1/policy/checks')
  t.equal(checks.json.checks.length, 23)
  t.strictSame(
    checks.json.checks.filter((check: { passed: boolean }) => !check.passed),
    [],
  )
  const disable = '/v1/persons/demo_approver_a/disable'
  t.equal((await call(demo.approver_b, 'POST', disable)).status, 200)
  const after = await call(demo.operator, 'GET', '/v1/policy/checks')
  t.match(
    after.json.checks.filter((check: { passed: boolean }) => !check.passed),
    [{ id: 'approvers-exist' }],
    'nobody counts on who is disabled',
  )
  const asked = await call(demo.operator, 'GET', '/v1/policy/checks?action_type=release.major')
  t.match(asked.json, { status: 'needs_gate', answer: { gate_id: 'gate.major-release-approve' } })

  const url = '/portal/api/compliance/report'
  const report = await call(demo.operator, 'GET', `${url}?framework=gdpr`)
  t.match(report.json, { frameworks: [{ framework: 'gdpr', counts: { evidence_found: Number } }] })
  t.notOk('text' in report.json)
  t.match(await text(demo.operator, `${url}?as=html`), [/text\/html/, /^<!doctype html>/])
  t.match(await text(demo.operator, `${url}?as=text`), [/text\/plain/, /EU|Regulation/])
  t.equal((await call(demo.pro, 'GET', url)).status, 403)
  const status = await call(demo.operator, 'POST', '/v1/skills/compliance-status', {})
  t.equal(status.json.frameworks.length, 3)
  const check = await call(demo.operator, 'POST', '/v1/skills/compliance-check', {
    framework: 'iso42001',
  })
  t.equal(check.json.frameworks[0].controls.length, 38)
})

t.test('skills return policy decisions and gates', async t => {
  const { demo, call } = await scene(t)
  const skill = (id: string, body: object) => call(demo.operator, 'POST', `/v1/skills/${id}`, body)
  t.match((await skill('policy-check', { action_type: 'release.major' })).json, {
    decision: 'needs_gate',
    gate_id: 'gate.major-release-approve',
  })
  t.match(
    (
      await skill('policy-check', {
        action_type: 'device.command.unsafe',
        context: '{"dry_run":true}',
      })
    ).json,
    { decision: 'allowed' },
  )
  t.match(await skill('policy-check', {}), {
    status: 422,
    json: { error: { param: 'action_type' } },
  })
  t.match(await skill('policy-check', { action_type: 'x', context: '{' }), { status: 422 })
  t.match((await skill('gate-routing-query', { gate_id: 'gate.major-release-approve' })).json, {
    approver_roles: ['architect', 'operator_admin'],
    approvals_needed: 2,
  })
  t.equal((await skill('gate-routing-query', { gate_id: 'gate.none' })).status, 404)
  const first = await skill('hitl-gate', {
    gate_id: 'gate.minor-release-approve',
    evidence: 'v1.4',
  })
  t.match(first.json, { status: 'pending', approvals_missing: 1 })
  await call(demo.approver_a, 'POST', `/v1/gates/requests/${first.json.request_id}/approve`)
  const second = await skill('hitl-gate', {
    gate_id: 'gate.minor-release-approve',
    evidence: 'v1.4',
  })
  t.match(second.json, { status: 'approved', request_id: first.json.request_id })
  t.match(await skill('hitl-gate', {}), { status: 422, json: { error: { param: 'gate_id' } } })
})

t.test('no key lets a person act as another', async t => {
  const { demo, call, keys } = await scene(t)
  const operatorId = demo.operator.slice('svc-dev-'.length).split('_')[0] ?? ''
  const operator = await keys.get(operatorId, { tenantId: 'demo' })
  const issue = async (more: object) => {
    const { tenantId = '', personId = '' } = operator ?? {}
    return keys.create({ tenantId, personId, tier: 'enterprise', ...more }, { actor: 'test' })
  }

  await t.test('an administrator cannot read a new secret of another person', async t => {
    const approver = demo.approver_a.slice('svc-dev-'.length).split('_')[0]
    const answer = await call(demo.operator, 'POST', `/v1/keys/${approver}/rotate`)
    t.match(answer, {
      status: 403,
      json: { error: { message: /only its holder can rotate the secret of/ } },
    })
    t.equal((await call(demo.approver_a, 'GET', '/v1/keys')).status, 200)
  })
  await t.test('a program cannot act as its person', async t => {
    const roles = ['client', 'operator_admin', 'builder'] as const
    for (const kind of ['ai_agent', 'ci_pipeline', 'autonomous']) {
      const { secret, key } = await issue({ kind, roles: [...roles] })
      t.equal((await call(secret, 'POST', `/v1/keys/${operatorId}/rotate`)).status, 403, kind)
      const asked = await call(secret, 'POST', '/v1/keys', { tier: 'free', roles })
      t.match(asked, { status: 403, json: { error: { param: 'kind' } } })
      t.equal((await call(secret, 'POST', '/v1/keys', { tier: 'free', kind })).status, 202)
      t.equal((await call(secret, 'POST', `/v1/keys/${key.id}/rotate`)).status, 200, 'its own')
    }
    const client = await issue({ kind: 'ai_agent', roles: ['client'] })
    t.equal((await call(client.secret, 'DELETE', `/v1/keys/${operatorId}`)).status, 404)
  })
  await t.test('a program cannot read a key that its person has requested', async t => {
    const { secret } = await issue({ kind: 'ai_agent', roles: ['client'] })
    const { request_id } = (await call(demo.operator, 'POST', '/v1/keys', { tier: 'pro' })).json
    await call(demo.approver_a, 'POST', `/v1/gates/requests/${request_id}/approve`)
    t.equal((await call(secret, 'POST', `/v1/keys/requests/${request_id}/reveal`)).status, 403)
    const shown = await call(demo.operator, 'POST', `/v1/keys/requests/${request_id}/reveal`)
    t.equal(shown.status, 200)
  })
  await t.test('a lesser key cannot become a greater one', async t => {
    const { secret } = await issue({ roles: ['client'] })
    t.equal((await call(secret, 'POST', `/v1/keys/${operatorId}/rotate`)).status, 403)
    t.equal((await call(demo.operator, 'POST', `/v1/keys/${operatorId}/rotate`)).status, 200)
  })
  await t.test('a person without a role in another tenant gets none here', async t => {
    const { secret } = await issue({ roles: ['client'], furtherTenants: ['other'] })
    const body = { tier: 'free', roles: ['operator_admin'], further_tenants: ['other'] }
    t.match(await call(secret, 'POST', '/v1/keys', body), {
      status: 403,
      json: { error: { param: 'roles' } },
    })
    const asked = await call(secret, 'POST', '/v1/keys', { ...body, roles: ['client'] })
    const path = `/v1/gates/requests/${asked.json.request_id}`
    t.match((await call(demo.approver_a, 'GET', path)).json, {
      summary: /also in other, without expiry/,
    })
  })
})

t.test('a handwritten gate request authorises no action of shoal', async t => {
  const { demo, call } = await scene(t)
  const requestByHand = (gate: string, body: object) =>
    call(demo.operator, 'POST', `/v1/gates/${gate}/requests`, { summary: 'harmless', ...body })
  const approve = (id: string) => call(demo.approver_a, 'POST', `/v1/gates/requests/${id}/approve`)

  const plan = {
    action: 'key.issue',
    tenant_id: 'other',
    person_id: 'eve',
    tier: 'enterprise',
    roles: ['operator_admin'],
    kind: 'person',
    label: '',
    further_tenants: [],
    expires_at: null,
  }
  for (const own of [plan, { any: 'thing' }]) {
    const { id } = (await requestByHand('gate.developer-api-key-approve', { plan: own })).json
    t.equal((await approve(id)).json.state, 'approved')
    const revealed = await call(demo.operator, 'POST', `/v1/keys/requests/${id}/reveal`)
    t.match(revealed, { status: 403, json: { error: { message: /keys-request/ } } })
  }
  const tokens = { action: 'cell.enrol-many', uses: 500, tags: [], ttlMinutes: 30 }
  const { id } = (await requestByHand('gate.cell-enroll', { plan: tokens })).json
  await approve(id)
  const asked = await call(demo.operator, 'POST', '/v1/tokens', { uses: 500, ttl_minutes: 30 })
  t.equal(asked.status, 202, 'it asks in its own words')
  t.match(await requestByHand('gate.cell-enroll', { plan: tokens, subject: 'shoal:x' }), {
    status: 422,
    json: { error: { param: 'subject' } },
  })
})
