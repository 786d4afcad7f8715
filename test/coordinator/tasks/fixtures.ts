import type { NewTask } from '../../../coordinator/tasks/new-task.ts'
import type { Work } from '../../../coordinator/tasks/turn.ts'

/** The key that makes the tasks. */
export const HOME = { tenantId: 'home', keyId: 'key', personId: undefined, operationIds: [] }

export const newTask = (work: Work): NewTask => ({
  run: {
    ...{ tenantId: 'home', keyId: 'key', requestId: 'req', operationId: 'x', input: {} },
    ...{ cellId: undefined, audited: false },
  },
  work,
})
