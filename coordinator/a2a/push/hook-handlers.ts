import { TaskNotFoundError } from '@a2a-js/sdk/errors'
import type { A2ARequestHandler } from '@a2a-js/sdk/server'
import type { HookOwner } from '../../tasks/hook-owner.ts'
import type { Version } from '../call.ts'
import type { PushConfigs } from './push-configs.ts'

export interface HookHandlerParts {
  push: Pick<PushConfigs, 'save' | 'list' | 'remove'>
  version: Version
  /** Throws for a task that the caller does not see. */
  ownerOf: (taskId: string, tenant: string) => Promise<HookOwner>
}

/** The part of the protocol that is about where the events of a task are sent. */
export const hookHandlers = ({ push, version, ownerOf }: HookHandlerParts) =>
  ({
    createTaskPushNotificationConfig: async config =>
      push.save(config.taskId, await ownerOf(config.taskId, config.tenant), config, version),
    getTaskPushNotificationConfig: async ({ taskId, id, tenant }) => {
      const all = await push.list(taskId, await ownerOf(taskId, tenant))
      // before 1.0 the id could be left out
      const config = id === '' && all.length === 1 ? all[0] : all.find(each => each.id === id)
      if (config === undefined) throw new TaskNotFoundError(`task ${taskId} has no config ${id}`)
      return config
    },
    listTaskPushNotificationConfigs: async ({ taskId, tenant }) => ({
      configs: await push.list(taskId, await ownerOf(taskId, tenant)),
      nextPageToken: '',
    }),
    deleteTaskPushNotificationConfig: async ({ taskId, id, tenant }) =>
      push.remove(taskId, await ownerOf(taskId, tenant), id),
  }) satisfies Partial<A2ARequestHandler>
