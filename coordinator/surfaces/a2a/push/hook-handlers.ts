import { TaskNotFoundError } from '@a2a-js/sdk/errors'
import type { A2ARequestHandler } from '@a2a-js/sdk/server'
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
      return push.save(config.taskId, own, config, call.version, call.key?.id ?? '')
    },
    getTaskPushNotificationConfig: async ({ taskId, id, tenant }) => {
      const all = await push.list(taskId, await tenantOf(taskId, tenant))
      // before 1.0 the id could be left out
      const config = id === '' && all.length === 1 ? all[0] : all.find(each => each.id === id)
      if (config === undefined) throw new TaskNotFoundError(`task ${taskId} has no config ${id}`)
      return config
    },
    listTaskPushNotificationConfigs: async ({ taskId, tenant }) => ({
      configs: await push.list(taskId, await tenantOf(taskId, tenant)),
      nextPageToken: '',
    }),
    deleteTaskPushNotificationConfig: async ({ taskId, id, tenant }) =>
      push.remove(taskId, await tenantOf(taskId, tenant), id),
  }) satisfies Partial<A2ARequestHandler>
