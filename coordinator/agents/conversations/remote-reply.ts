import * as z from 'zod'
import { ShoalError } from '../../../shared/errors.ts'

const Part = z.object({ text: z.string().nullish(), data: z.unknown().optional() })
const Parts = z.object({ parts: z.array(Part).nullish() })
const Task = z.object({
  id: z.string().max(1000).default(''),
  status: z.object({ state: z.string(), message: Parts.nullish() }),
  artifacts: z.array(Parts).nullish(),
})

/** Text of an agent's answer, or the id of the task that it is still working on. */
type Reply = { text: string } | { taskId: string }

/**
 * Reads the text of an answer: of a message, or of a task that is completed or needs more input.
 * Data parts become JSON. Throws `cell_unavailable` for a failed task and for an answer without
 * text.
 */
export const readReply = (result: unknown): Reply => {
  const { task, message } = (result ?? {}) as { task?: unknown; message?: unknown }
  const asTask = Task.safeParse(task ?? result)
  if (asTask.success && isAtWork(asTask.data)) return { taskId: asTask.data.id }
  const text = asTask.success
    ? readTaskText(asTask.data)
    : readPartsText(Parts.safeParse(message ?? result))
  if (text === '') throw new ShoalError('cell_unavailable', 'the agent answered without text')
  return { text }
}

const isAtWork = (task: z.output<typeof Task>): boolean =>
  task.id !== '' && ['submitted', 'working'].includes(stateOf(task))

const stateOf = ({ status }: z.output<typeof Task>): string =>
  status.state
    .replace(/^TASK_STATE_/, '')
    .toLowerCase()
    .replaceAll('_', '-')

const readTaskText = (task: z.output<typeof Task>): string => {
  const { id, status, artifacts } = task
  const state = stateOf(task)
  const said = status.message ? textOf(status.message) : ''
  if (state === 'completed')
    return [...(artifacts ?? []).map(textOf), said].filter(Boolean).join('\n\n')
  if (state === 'input-required' && said !== '') return said
  throw new ShoalError(
    'cell_unavailable',
    `the agent's task ${id.slice(0, 64)} is ${state.slice(0, 40)}${said === '' ? '' : `: ${said.slice(0, 300)}`}`,
  )
}

const readPartsText = (parsed: z.ZodSafeParseResult<z.output<typeof Parts>>): string =>
  parsed.success ? textOf(parsed.data) : ''

const textOf = ({ parts }: z.output<typeof Parts>): string =>
  (parts ?? [])
    .map(({ text, data }) => text ?? (data === undefined ? '' : JSON.stringify(data)))
    .filter(text => text !== '')
    .join('\n')
