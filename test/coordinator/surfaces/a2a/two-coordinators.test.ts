import t from 'tap'
import { type AnyJson, a2aScene, askUntil, caller, message } from '../../../support/a2a.ts'
import { testSkills } from '../../../support/a2a-skills.ts'
import { temporaryFolder, temporaryStore } from '../../kernel/store/temporary.ts'

/** Two coordinators on one store, each with its own connections to it. */
const pair = async (t: Parameters<typeof temporaryStore>[0]) => {
  const folder = await temporaryFolder(t)
  const open = () => temporaryStore(t, folder, { pollMilliseconds: 20 })
  const here = testSkills()
  const there = testSkills()
  t.teardown(here.release)
  const first = await a2aScene(t, { moreSkills: here.skills, store: await open() })
  const { demo } = first
  const second = await a2aScene(t, {
    moreSkills: there.skills,
    from: { store: await open(), demo },
  })
  const ask = [first, second].map(({ url }) => caller(url, demo.operator))
  return { here, ask: ask as [ReturnType<typeof caller>, ReturnType<typeof caller>] }
}

const begin = async ({ rpc }: ReturnType<typeof caller>): Promise<string> => {
  const { result } = await rpc('SendMessage', {
    message: message({ data: { skill: 'test-slow', input: {} } }),
    configuration: { returnImmediately: true },
  })
  const { id } = result.task
  await askUntil(
    () => rpc('GetTask', { id }),
    answer => answer.result.status.state === 'TASK_STATE_WORKING',
  )
  return id
}

t.test('a task is followed at one coordinator while the other runs it', async t => {
  const { here, ask } = await pair(t)
  const [first, second] = ask
  const id = await begin(first)
  const told: AnyJson[] = []
  for await (const { result } of second.stream('SubscribeToTask', { id })) {
    told.push(result)
    if (told.length === 1) here.release()
  }
  t.equal(told[0].task.status.state, 'TASK_STATE_WORKING')
  t.ok(told.some(({ artifactUpdate }) => artifactUpdate !== undefined))
  t.equal(told.at(-1).statusUpdate.status.state, 'TASK_STATE_COMPLETED')
})

t.test('a task is cancelled at one coordinator while the other runs it', async t => {
  const { here, ask } = await pair(t)
  const [first, second] = ask
  const ids = [await begin(first), await begin(first)] as const
  const rest = await second.json(`/v1/tasks/${ids[0]}/cancel`, {})
  t.match(rest, { status: 200, json: { state: 'canceled' } })
  const a2a = await second.rpc('CancelTask', { id: ids[1] })
  t.equal(a2a.result.status.state, 'TASK_STATE_CANCELED')
  await askUntil(
    async () => here.done.filter(each => each === 'stopped').length,
    stopped => stopped === 2,
  )
  const { json } = await first.json(`/v1/tasks/${ids[0]}/transitions`)
  t.match(json.transitions.at(-1).actor, /^key:/)
})
