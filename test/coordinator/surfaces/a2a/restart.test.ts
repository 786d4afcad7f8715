import t from 'tap'
import { a2aScene, askUntil, caller, message } from '../../../support/a2a.ts'
import { testSkills } from '../../../support/a2a-skills.ts'

t.test('after a restart every task continues, keeps waiting, or states why it ended', async t => {
  const before = testSkills()
  const first = await a2aScene(t, { moreSkills: before.skills })
  const { demo, store } = first
  const ask = caller(first.url, demo.operator)
  const begin = async (skill: string, input: object = {}) => {
    const body = message({ data: { skill, input } })
    const configuration = { returnImmediately: true }
    const { result } = await ask.rpc('SendMessage', { message: body, configuration })
    return { id: result.task.id as string, body }
  }
  const stateOf = async (id: string) => (await ask.rpc('GetTask', { id })).result.status.state
  const waitForState = (id: string, wanted: string) =>
    askUntil(
      () => stateOf(id),
      state => state === wanted,
    )
  const cut = await begin('test-slow')
  const again = await begin('test-again')
  const gated = await begin('test-gated', { stone: 'waits' })
  const asking = await begin('test-echo')
  await waitForState(cut.id, 'TASK_STATE_WORKING')
  await waitForState(again.id, 'TASK_STATE_WORKING')
  await waitForState(gated.id, 'TASK_STATE_AUTH_REQUIRED')
  await waitForState(asking.id, 'TASK_STATE_INPUT_REQUIRED')
  await first.close()

  const after = testSkills()
  after.release()
  const second = await a2aScene(t, { moreSkills: after.skills, from: { store, demo } })
  const { rpc, json } = caller(second.url, demo.operator)
  const get = async (id: string) => (await rpc('GetTask', { id })).result
  const waitForTask = (id: string, wanted: string) =>
    askUntil(
      () => get(id),
      task => task.status.state === wanted,
    )

  const failed = await waitForTask(cut.id, 'TASK_STATE_FAILED')
  t.match(failed.status.message.parts[1].data, { error: { code: 'coordinator_restarted' } })
  await waitForTask(again.id, 'TASK_STATE_COMPLETED')
  t.strictSame(after.done, ['again'])
  t.equal((await get(asking.id)).status.state, 'TASK_STATE_INPUT_REQUIRED')

  const same = await rpc('SendMessage', { message: gated.body })
  t.equal(same.result.task.id, gated.id, 'a message is known after a restart')
  const { gate } = same.result.task.status.message.parts[1].data
  await caller(second.url, demo.approver_a).json(
    `/v1/gates/requests/${gate.request_id}/approve`,
    {},
  )
  await waitForTask(gated.id, 'TASK_STATE_COMPLETED')
  t.ok(after.done.includes('waits'))

  const answered = await rpc('SendMessage', {
    message: message({ data: { words: 'later' } }, { taskId: asking.id }),
  })
  t.equal(answered.result.task.status.state, 'TASK_STATE_COMPLETED')
  t.equal((await json(`/v1/tasks/${cut.id}/transitions`)).json.intact, true)
})
