import * as z from 'zod'
import { ShoalError } from '../../../../shared/errors.ts'
import { createUnknownError } from '../../../../shared/reference-errors.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import type { TaskViews } from '../task-views.ts'
import type { TaskWebhook } from '../task-webhook.ts'
import { TaskId } from './task-view.ts'

export const HOOK_PATH = { task_id: TaskId, hook_id: z.string().min(1).max(128) }

/** View of a webhook; its secrets are masked, but remain distinguishable. */
export const HookView = z.object({
  id: z.string(),
  task_id: z.string(),
  url: z.string(),
  /** Value of `X-A2A-Notification-Token`; null without one. */
  token: z.string().nullable(),
  /** The scheme of the `Authorization` that is sent; null without one. */
  scheme: z.string().nullable(),
  credentials: z.string().nullable(),
})

export const hookViewOf = ({
  id,
  taskId,
  url,
  token,
  authentication,
}: TaskWebhook): z.input<typeof HookView> => ({
  id,
  task_id: taskId,
  url,
  token: token || null,
  scheme: authentication?.scheme || null,
  credentials: authentication?.credentials || null,
})

export const requireCallerTenant = ({ tenantId }: Pick<Context, 'tenantId'>): string => {
  if (tenantId === undefined) throw new ShoalError('auth_required', 'this call needs a key')
  return tenantId
}

/** The hooks of a task that the caller sees. Throws `not_found` for another one. */
export const hooksOf = async (
  context: Context & TaskViews,
  taskId: string,
): Promise<TaskWebhook[]> => {
  await context.tasks.get(taskId, context)
  return context.tasks.hooks.list(taskId, requireCallerTenant(context))
}

/** Throws `not_found` for a hook that the task does not have. */
export const hookOf = async (
  context: Context & TaskViews,
  { task_id, hook_id }: { task_id: string; hook_id: string },
): Promise<TaskWebhook> => {
  const hook = (await hooksOf(context, task_id)).find(({ id }) => id === hook_id)
  if (hook === undefined)
    throw createUnknownError('hook', hook_id, {
      where: `of task ${task_id}`,
      next: `shoal tasks hooks list ${task_id}`,
    })
  return hook
}
