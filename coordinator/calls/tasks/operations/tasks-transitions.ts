import * as z from 'zod'
import { iso } from '../../../../shared/time.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { createGrowingChoice } from '../../../kernel/declaration/define-view.ts'
import { pageLimit } from '../../../kernel/declaration/fields.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import { TASK_STATES } from '../task-state.ts'
import type { TaskTransition } from '../task-transition.table.ts'
import type { TaskViews } from '../task-views.ts'
import { findBrokenTransition } from '../transition.ts'
import { TaskId } from './task-view.ts'

const StateWord = createGrowingChoice(TASK_STATES)

const Transition = z.object({
  seq: z.int(),
  from: StateWord.nullable(),
  to: StateWord,
  at: z.iso.datetime(),
  /** `key:…`, `anonymous` or `coordinator`. */
  actor: z.string(),
  reason: z.string().nullable(),
  gate_request_id: z.string().nullable(),
  /** SHA-256 over the row and the hash before it. */
  prev: z.string(),
  hash: z.string(),
})

const transitionViewOf = ({
  taskId: _,
  fromState,
  toState,
  at,
  reason,
  gateRequestId,
  ...transition
}: TaskTransition): z.input<typeof Transition> => ({
  ...transition,
  from: fromState ?? null,
  to: toState,
  at: iso(at),
  reason: reason ?? null,
  gate_request_id: gateRequestId ?? null,
})

export default defineOperation({
  id: 'tasks-transitions',
  description: 'Show the state transitions of a task, each linked to the previous one by a hash.',
  method: 'GET',
  path: '/v1/tasks/{task_id}/transitions',
  access: 'key',
  effect: 'read',
  input: z.strictObject({
    task_id: TaskId,
    after: z.int().min(0).default(0).describe("Cursor from the previous page's `next`."),
    limit: pageLimit(1000, 200),
  }),
  output: z.object({
    transitions: z.array(Transition),
    next: z.int().nullable(),
    /** True when the whole chain is unmodified. */
    intact: z.boolean(),
  }),
  run: async ({ task_id, after, limit }, context: Context & TaskViews) => {
    const { tasks } = context
    await tasks.get(task_id, context)
    const all = await tasks.transitions(task_id, { limit: 10_000 })
    const page = all.filter(({ seq }) => seq > after).slice(0, limit)
    const last = page.at(-1)?.seq ?? after
    return {
      transitions: page.map(transitionViewOf),
      next: last < (all.at(-1)?.seq ?? 0) ? last : null,
      intact: findBrokenTransition(all) === undefined,
    }
  },
})
