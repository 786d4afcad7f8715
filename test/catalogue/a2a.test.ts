import t from 'tap'
import { jsonSchema } from '../../coordinator/kernel/declaration/json-schema.ts'
import { findMissingInput } from '../../coordinator/kernel/declaration/missing-input.ts'
import type { Skill } from '../../coordinator/kernel/declaration/skill.ts'
import { skills } from '../../coordinator/surfaces/catalogue/skills.ts'
import { type AnyJson, a2aScene, caller, message } from '../support/a2a.ts'

/* Nothing behind the views is asked for: what counts is that a call gets there and comes back. */
const scene = await a2aScene(t)
const { rpc } = caller(scene.url, scene.demo.approver_a)
const ENDS = ['COMPLETED', 'FAILED', 'REJECTED', 'AUTH_REQUIRED', 'INPUT_REQUIRED'].map(
  state => `TASK_STATE_${state}`,
)

const send = async (skill: string, input: object): Promise<AnyJson> => {
  const body = message({ data: { skill, input } })
  const { result, error } = await rpc('SendMessage', { message: body })
  if (error !== undefined) throw new Error(`${skill}: ${JSON.stringify(error)}`)
  return result.task
}

const listRequiredFields = ({ input }: Skill): unknown[] =>
  (jsonSchema(input).required as string[]) ?? []

t.test('the client is asked once for all fields that only the schema makes optional', t => {
  const lacking = skills.map(skill => [
    skill.id,
    ...(findMissingInput(skill, {})?.names.filter(
      name => !listRequiredFields(skill).includes(name),
    ) ?? []),
  ])
  t.strictSame(
    lacking.filter(([, name]) => name !== undefined),
    [
      ['agent-capability-check', 'agent_id', 'skill'],
      ['hitl-gate', 'gate_id'],
      ['policy-check', 'action_type'],
    ],
  )
  t.end()
})

for (const skill of skills)
  t.test(`${skill.id} can be called over A2A`, async t => {
    const task = await send(skill.id, skill.examples[0] ?? {})
    t.ok(ENDS.includes(task.status.state), task.status.state)
    t.equal(task.metadata.skill, skill.id)
    if (task.status.state === 'TASK_STATE_COMPLETED')
      t.ok(skill.output.safeParse(task.artifacts[0].parts[0].data).success)
    const missing = findMissingInput(skill, {})
    if (missing === undefined) return
    const asked = await send(skill.id, {})
    t.equal(asked.status.state, 'TASK_STATE_INPUT_REQUIRED')
    t.strictSame(asked.status.message.parts[1].data.input_required.missing, missing.names)
  })
