import { TaskNotFoundError } from '@a2a-js/sdk/errors'
import type { A2ARequestHandler } from '@a2a-js/sdk/server'
import { webhookFromA2a, webhookToA2a } from '../a2a-shapes.ts'
import type { A2aCall } from '../call.ts'
import type { PushConfigs } from './push-configs.ts'

interface HookHandlerParts {
  push: Pick<PushConfigs, 'save' | 'list' | 'remove'>
  call: Pick<A2aCall, 'version' | 'key'>
  /** The tenant of the caller. Throws for a task that the caller does not see. */
  tenantOf: (taskId: string, tenant: string) => Promise<string>
}

/** The part of the protocol that is about where the events of a task are sent. */
export const hookHandlers = ({ push, call, tenantOf }: HookHandlerParts) =>
  ({
    createTaskPushNotificationConfig: async config => {
      const own = await tenantOf(config.taskId, config.tenant)
      const saved = await push.save(own, webhookFromA2a(config), call.version, call.key?.id ?? '')
      return webhookToA2a(saved, own)
    },
    getTaskPushNotificationConfig: async ({ taskId, id, tenant }) => {
      const own = await tenantOf(taskId, tenant)
      const all = await push.list(taskId, own)
      // before 1.0 the id could be left out
      const config = id === '' && all.length === 1 ? all[0] : all.find(each => each.id === id)
      if (config === undefined) throw new TaskNotFoundError(`task ${taskId} has no config ${id}`)
      return webhookToA2a(config, own)
    },
    listTaskPushNotificationConfigs: async ({ taskId, tenant }) => {
      const own = await tenantOf(taskId, tenant)
      const all = await push.list(taskId, own)
      return { configs: all.map(config => webhookToA2a(config, own)), nextPageToken: '' }
    },
    deleteTaskPushNotificationConfig: async ({ taskId, id, tenant }) =>
      push.remove(taskId, await tenantOf(taskId, tenant), id),
  }) satisfies Partial<A2ARequestHandler>
