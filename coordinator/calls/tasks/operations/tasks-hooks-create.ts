import * as z from 'zod'
import { ShoalError } from '../../../../shared/errors.ts'
import { callerOf } from '../../../access/gates/operations/gate-view.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { TaskViews } from '../task-views.ts'
import { HookView, hooksOf, hookViewOf } from './hook-view.ts'
import { TaskId } from './task-view.ts'

export default defineOperation({
  id: 'tasks-hooks-create',
  description:
    'Register a webhook for the events of a task (A2A 1.0 push notifications). Deliveries are signed and retried.',
  method: 'POST',
  path: '/v1/tasks/{task_id}/hooks',
  access: 'key',
  effect: 'write',
  status: 201,
  input: z.strictObject({
    task_id: TaskId,
    url: z.string().min(1).max(2048).describe('An https address that the operator allows.'),
    token: z.string().max(4096).default('').describe('Token that is sent back with each event.'),
    scheme: z
      .string()
      .max(128)
      .default('')
      .describe('Scheme of the `Authorization` header to send: `Bearer`.'),
    credentials: z.string().max(4096).default('').describe('Credentials that follow the scheme.'),
  }),
  output: HookView,
  examples: [{ url: 'https://hooks.acme-corp.com/tasks' }],
  run: async ({ task_id, url, token, scheme, credentials }, context: Context & TaskViews) => {
    await hooksOf(context, task_id)
    if (scheme === '' && credentials !== '')
      throw new ShoalError('invalid_request', 'credentials need a scheme', { param: 'scheme' })
    const { tenantId, person } = callerOf(context)
    const authentication = scheme === '' ? undefined : { scheme, credentials }
    const hook = { id: '', taskId: task_id, url, token, authentication }
    return hookViewOf(await context.tasks.hooks.save(tenantId, hook, '1.0', person.keyId))
  },
})
