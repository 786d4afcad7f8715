import { ShoalError } from '../../../shared/errors.ts'
import { mayCall } from '../../calls/invoke/access.ts'
import type { OperationTasks } from '../../calls/tasks/operation-tasks.ts'
import { dataPart, textPart } from '../../calls/tasks/parts.ts'
import type { Opening } from '../../calls/tasks/turn.ts'
import { jsonSchema } from '../../kernel/declaration/json-schema.ts'
import { findMissingInput } from '../../kernel/declaration/missing-input.ts'
import {
  dropHiddenFields,
  hideNamedFields,
  listSecretFields,
} from '../../kernel/declaration/secret-fields.ts'
import type { Skill } from '../../kernel/declaration/skill.ts'
import { SkillNotFoundError } from './errors.ts'
import type { Executor, ExecutorAnswer, ExecutorRequest } from './executor.ts'
import { invocationOf, type MessageInvocation } from './invocation.ts'
import { routeText, type SkillCandidate } from './skill-router.ts'

interface SkillExecutorParts {
  skills: readonly Skill[]
  tasks: Pick<OperationTasks, 'prepare'>
}

/** Messages as calls of skills. */
export const skillExecutor = ({ skills, tasks }: SkillExecutorParts): Executor => {
  const byId = new Map(skills.map(skill => [skill.id, skill]))
  /** Names of fields that are a secret of some skill, for input of which the skill is not known. */
  const secretNames = skills.flatMap(({ input }) => listSecretFields(input))

  const find = (id: string): Skill => {
    const skill = byId.get(id)
    if (skill === undefined) throw new SkillNotFoundError(id)
    return skill
  }

  const ask = async (
    skill: Skill,
    input: object,
    cell: string | undefined,
    { call }: ExecutorRequest,
  ): Promise<ExecutorAnswer> => {
    if (cell !== undefined && !skill.onCell)
      throw new ShoalError('invalid_request', `${skill.id} does not run on a cell`, {
        param: 'metadata.cell',
      })
    const { key, tenantId, requestId, address } = call
    const caller = { key, tenantId, requestId, address }
    const turn = await tasks.prepare({ operation: skill, input, caller, cellId: cell })
    return { kind: 'task', ...turn, metadata: { skill: skill.id } }
  }

  const begin = async (
    invocation: MessageInvocation,
    incoming: ExecutorRequest,
  ): Promise<ExecutorAnswer> => {
    const { skill: id, input = {}, text, cell } = invocation
    if (id !== undefined) return ask(find(id), input, cell, incoming)
    const mine = skills.filter(skill => mayCall(skill, incoming.call.key))
    const { skill, candidates } = routeText(text, mine)
    if (skill !== undefined) return ask(skill, input, cell, incoming)
    return {
      kind: 'task',
      run: {
        operationId: undefined,
        input: hideNamedFields(secretNames, input),
        cellId: cell,
        audited: false,
      },
      opening: chooseOne(candidates),
    }
  }

  /** Continues a task; the input of the message overrides the previous input. */
  const goOn = async (
    invocation: MessageInvocation,
    incoming: ExecutorRequest,
  ): Promise<ExecutorAnswer> => {
    const { run } = incoming.previous as NonNullable<ExecutorRequest['previous']>
    const { skill: id, text, cell = run.cellId } = invocation
    const known = run.operationId === undefined ? undefined : byId.get(run.operationId)
    const had = dropHiddenFields(run.input as object)
    if (known === undefined || (id !== undefined && byId.has(id) && id !== known.id))
      return begin({ ...invocation, cell, input: { ...had, ...invocation.input } }, incoming)
    const named = invocation.input ?? wordFor(known, had, text)
    return ask(known, { ...had, ...named }, cell, incoming)
  }

  return async incoming => {
    const invocation = invocationOf(incoming.message, incoming.metadata)
    return incoming.previous === undefined
      ? begin(invocation, incoming)
      : goOn(invocation, incoming)
  }
}

/** Plain words are the value of the one field that is missing, where that takes them. */
const wordFor = (skill: Skill, had: object, text: string): object => {
  const names = findMissingInput(skill, had)?.names ?? []
  const [name] = names
  if (names.length !== 1 || name === undefined || text === '') return {}
  return skill.input.shape[name]?.safeParse(text).success ? { [name]: text } : {}
}

const chooseOne = (candidates: readonly SkillCandidate[]): Opening => ({
  state: 'input-required',
  more: {
    reason: 'the text does not clearly name one skill',
    run: { waits: 'input' },
    parts: [
      textPart(question(candidates)),
      dataPart({
        candidates: candidates.map(({ skill, score }) => ({
          skill: skill.id,
          name: skill.name,
          description: skill.description,
          score,
          input_schema: jsonSchema(skill.input),
        })),
      }),
    ],
  },
})

const question = (candidates: readonly SkillCandidate[]): string =>
  candidates.length === 0
    ? 'no skill matches; name one as {"skill": "…", "input": {…}}; the agent card lists them'
    : `several skills match; name one of them: ${candidates.map(({ skill }) => skill.id).join(', ')}`
