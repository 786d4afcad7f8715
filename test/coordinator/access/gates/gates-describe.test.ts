import t from 'tap'
import { ShoalError } from '../../../../shared/errors.ts'
import { a2aScene, caller } from '../../../support/a2a.ts'

const away = async (): Promise<never> => {
  throw new ShoalError('store_unavailable', 'the store is unavailable')
}
// reads that only decorate an answer fail
const { url, demo } = await a2aScene(t, {
  views: { people: { names: away }, gates: { approval: away } },
})

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

t.test('a decision and the use of an approval do not fail for what is read after them', async t => {
  const [asker, reviewer] = [caller(url, demo.operator).json, caller(url, demo.approver_a).json]
  const asked = { plan: { version: '3.1' }, summary: 'release 3.1' }
  const { json } = await asker('/v1/gates/gate.minor-release-approve/requests', asked)
  const path = `/v1/gates/requests/${json.id}`
  t.match(await reviewer(`${path}/approve`, {}), {
    status: 200,
    json: { state: 'approved', requester: null, requester_id: 'demo_operator' },
  })
  t.match(await asker(`${path}/consume`, { plan: asked.plan }), {
    status: 200,
    json: { state: 'consumed', requester: null, approval: { request_id: json.id } },
  })
})

t.test('a key without a role of the gate may not approve', async t => {
  const { json } = await caller(url, demo.stranger).json(
    '/v1/gates/gate.campaign-stage-advance/definition',
  )
  t.match(json, { approvals: [['reviewer']], persons: 1, you_may_approve: false })
})
