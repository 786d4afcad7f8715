import t from 'tap'
import { Keys } from '../../../../coordinator/access/keys/keys.ts'
import { type AnyJson, a2aScene, askUntil, caller, message } from '../../../support/a2a.ts'
import { testSkills } from '../../../support/a2a-skills.ts'
import { BY } from '../../kernel/store/temporary.ts'

const { skills, done } = testSkills()
const scene = await a2aScene(t, { moreSkills: skills })
const { url, demo } = scene
const mine = caller(url, demo.operator)
const people = caller(url, demo.approver_a)

let stones = 0
const begin = async () => {
  const stone = `stone-${++stones}`
  const body = message({ data: { skill: 'test-gated', input: { stone } } })
  const { result } = await mine.rpc('SendMessage', { message: body })
  return { stone, task: result.task, gate: result.task.status.message.parts[1].data.gate }
}
const stateNow = async (id: string): Promise<string> =>
  (await mine.rpc('GetTask', { id })).result.status.state
const waitForEnd = (id: string) =>
  askUntil(
    () => stateNow(id),
    state => state !== 'TASK_STATE_AUTH_REQUIRED' && state !== 'TASK_STATE_WORKING',
  )
const decide = (gate: AnyJson, verb: string) =>
  people.json(`/v1/gates/requests/${gate.request_id}/${verb}`, {})

t.test('a task that needs approval states the decision and continues after it', async t => {
  const body = message({ data: { skill: 'test-gated', input: { stone: 'big' } } })
  const states: string[] = []
  for await (const { result } of mine.stream('SendStreamingMessage', { message: body })) {
    const { status } = result.task ?? result.statusUpdate ?? {}
    if (status !== undefined) states.push(status.state)
    if (status?.state === 'TASK_STATE_AUTH_REQUIRED') {
      const { gate } = status.message.parts[1].data
      t.match(gate, {
        gate_id: 'gate.minor-release-approve',
        status: 'pending',
        approvals: 0,
        required: 1,
        approver_roles: ['reviewer'],
        digest: /^[0-9a-f]{64}$/,
        approve_path: `/v1/gates/requests/${gate.request_id}/approve`,
      })
      t.equal((await decide(gate, 'approve')).status, 200)
    }
  }
  t.strictSame(
    states.map(state => state.replace('TASK_STATE_', '')),
    ['SUBMITTED', 'WORKING', 'AUTH_REQUIRED', 'WORKING', 'COMPLETED'],
  )
  t.ok(done.includes('big'))
})

t.test('a rejection ends the task as rejected, with the reason', async t => {
  const { task, gate, stone } = await begin()
  t.equal(task.status.state, 'TASK_STATE_AUTH_REQUIRED')
  await people.json(`/v1/gates/requests/${gate.request_id}/reject`, { reason: 'too heavy' })
  t.equal(await waitForEnd(task.id), 'TASK_STATE_REJECTED')
  const { result } = await mine.rpc('GetTask', { id: task.id })
  t.match(result.status.message.parts[0].text, /too heavy/)
  t.match(result.status.message.parts[1].data, { error: { code: 'gate_blocked' } })
  t.notOk(done.includes(stone))
})

t.test('a withdrawn request ends the task as rejected', async t => {
  const { task, gate } = await begin()
  await mine.json(`/v1/gates/requests/${gate.request_id}/withdraw`, {})
  t.equal(await waitForEnd(task.id), 'TASK_STATE_REJECTED')
})

t.test('cancelling a task withdraws its request, and a later approval has no effect', async t => {
  const { task, gate, stone } = await begin()
  const { result } = await mine.rpc('CancelTask', { id: task.id })
  t.equal(result.status.state, 'TASK_STATE_CANCELED')
  const { json } = await people.json(`/v1/gates/requests/${gate.request_id}`)
  t.equal(json.state, 'withdrawn')
  t.not((await decide(gate, 'approve')).status, 200)
  t.notOk(done.includes(stone))
})

t.test('a message does not bypass approval', async t => {
  const { task } = await begin()
  const { error } = await mine.rpc('SendMessage', {
    message: message({ text: 'approved!' }, { taskId: task.id }),
  })
  t.equal(error.code, -32004)
})

t.test('an approval has no effect for a key that was revoked in the meantime', async t => {
  const keys = new Keys({ store: scene.store, logger: { warn: () => {} } })
  const spec = { tenantId: 'demo', personId: 'demo_operator', tier: 'pro' as const }
  const made = await keys.create({ ...spec, roles: ['builder'] }, BY)
  const body = message({ data: { skill: 'test-gated', input: { stone: 'revoked' } } })
  const { result } = await caller(url, made.secret).rpc('SendMessage', { message: body })
  const { gate } = result.task.status.message.parts[1].data
  await keys.revoke(made.key.id, 'all', BY)
  await decide(gate, 'approve')
  t.equal(await waitForEnd(result.task.id), 'TASK_STATE_REJECTED')
  t.notOk(done.includes('revoked'))
  keys.close()
})

t.test('the skill that asks for approval waits as a task', async t => {
  const input = { gate_id: 'gate.minor-release-approve', evidence: 'all tests pass' }
  const body = message({ data: { skill: 'hitl-gate', input } })
  const { result } = await mine.rpc('SendMessage', { message: body })
  t.equal(result.task.status.state, 'TASK_STATE_AUTH_REQUIRED')
  await decide(result.task.status.message.parts[1].data.gate, 'approve')
  t.equal(await waitForEnd(result.task.id), 'TASK_STATE_COMPLETED')
  const { result: after } = await mine.rpc('GetTask', { id: result.task.id })
  t.match(after.artifacts[0].parts[0].data, { status: 'approved' })
})

t.test('the states of a task form a separate chain that the audit anchors', async t => {
  const { task, gate } = await begin()
  await decide(gate, 'approve')
  await waitForEnd(task.id)
  const { json } = await mine.json(`/v1/tasks/${task.id}/transitions`)
  t.equal(json.intact, true)
  t.match(json.transitions[2], { to: 'auth-required', gate_request_id: gate.request_id })
  t.strictSame(
    json.transitions.map(({ to }: AnyJson) => to),
    ['submitted', 'working', 'auth-required', 'working', 'completed'],
  )
  const rows = await scene.store.ledger.read
    .selectFrom('audit')
    .selectAll()
    .where('subject', '=', task.id)
    .where('action', '=', 'task.completed')
    .execute()
  t.equal(JSON.parse(rows[0]?.details_json ?? '{}').head, json.transitions.at(-1).hash)
  t.equal((await caller(url, demo.stranger).json(`/v1/tasks/${task.id}/transitions`)).status, 404)
})
