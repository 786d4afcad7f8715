import * as z from 'zod'
import { Day, defineRegister, Euros, Name, RecordId } from '../register.ts'

export const projectTasks = defineRegister({
  id: 'project-tasks',
  description: 'Tasks of projects, with their duration, dependencies and state.',
  record: z.strictObject({
    id: RecordId,
    project_id: RecordId,
    name: Name,
    state: z.enum(['open', 'in_progress', 'blocked', 'done']).default('open'),
    duration_days: z.number().min(0).max(10_000).exactOptional(),
    depends_on: z.array(RecordId).max(100).exactOptional().describe('Ids of other tasks.'),
    planned_cost_eur: Euros.exactOptional(),
    actual_cost_eur: Euros.exactOptional(),
    started_on: Day.exactOptional(),
    due_on: Day.exactOptional(),
    done_on: Day.exactOptional(),
    assignee_id: RecordId.exactOptional().describe('Id of a person.'),
  }),
  personal: { fields: [], persons: { assignee_id: 'clear' } },
})
