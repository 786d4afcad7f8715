import type { NewTask } from '../../../../coordinator/calls/tasks/new-task.ts'
import { agentMessage, textPart } from '../../../../coordinator/calls/tasks/parts.ts'
import type { SentMessage } from '../../../../coordinator/calls/tasks/sending.ts'
import type { Message, Task } from '../../../../coordinator/calls/tasks/task.ts'
import type { TaskReader } from '../../../../coordinator/calls/tasks/task-reader.ts'
import type { Tasks } from '../../../../coordinator/calls/tasks/tasks.ts'
import type { Opening, TurnWork } from '../../../../coordinator/calls/tasks/turn.ts'

/** The key that makes the tasks. */
export const HOME: TaskReader = {
  tenantId: 'home',
  keyId: 'key',
  personId: undefined,
  operationIds: [],
}

const RUN = { operationId: 'x', input: {}, cellId: undefined, audited: false }

export const newTask = (work: TurnWork): NewTask => ({
  run: { ...RUN, tenantId: 'home', keyId: 'key', requestId: 'req' },
  work,
})

/** Ends a turn with a question. */
export const requestInput: TurnWork = async turn => {
  turn.status('working')
  turn.status('input-required', { run: { waits: 'input' } })
}

export const completed: Opening = { state: 'completed' }
export const failed: Opening = { state: 'failed' }

const messageTo = ({ id, contextId }: Task): Message =>
  agentMessage(id, contextId, [textPart('more')])

/** A message to a task, whose turn begins like this. */
export const createSent = (task: Task, opening: Opening, input: object = {}): SentMessage => ({
  message: messageTo(task),
  actor: 'key:key',
  run: { ...RUN, input, keyId: 'key', requestId: 'req' },
  opening,
})

/** A task that waits for input and that no turn runs of. */
export const waitingTask = async (tasks: Tasks): Promise<Task> => {
  const { taskId, start } = await tasks.begin(newTask(requestInput))
  await start()
  await waitUntilFree(tasks, taskId)
  return tasks.get(taskId, HOME)
}

export const waitUntilFree = async (tasks: Tasks, taskId: string): Promise<void> => {
  while (tasks.isRunning(taskId)) await new Promise(setImmediate)
}
