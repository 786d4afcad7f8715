import t from 'tap'
import { a2aScene, caller } from '../../support/a2a.ts'

const { url, demo } = await a2aScene(t)

t.test('a gate is described with the rights of the key', async t => {
  const [asker, architect] = [caller(url, demo.operator).json, caller(url, demo.approver_a).json]
  const path = '/v1/gates/gate.major-release-approve'
  await asker(`${path}/requests`, { plan: { version: '2' }, summary: 'release 2' })
  const { status, json } = await architect(`${path}/definition`)
  t.equal(status, 200)
  t.match(json, {
    gate_id: 'gate.major-release-approve',
    approvals: [['architect'], ['operator_admin']],
    persons: 2,
    pending: 1,
    you_may_approve: true,
  })
  t.equal((await asker('/v1/gates/gate.no-such/definition')).status, 404)
  t.equal((await caller(url, demo.stranger).json(`${path}/definition`)).json.pending, 0)
  t.equal((await caller(url, demo.free).json(`${path}/definition`)).status, 403)
})

t.test('a key without a role of the gate may not approve', async t => {
  const { json } = await caller(url, demo.stranger).json(
    '/v1/gates/gate.campaign-stage-advance/definition',
  )
  t.match(json, { approvals: [['reviewer']], persons: 1, you_may_approve: false })
})
