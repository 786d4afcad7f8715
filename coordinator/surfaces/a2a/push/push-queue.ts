import { V03PushNotificationSerializer } from '@a2a-js/sdk/compat/v0_3/server'
import { V1PushNotificationSerializer } from '@a2a-js/sdk/server'
import type { Logger } from 'pino'
import type { TaskHooks } from '../../../calls/tasks/task-hooks.ts'
import { MAX_OUTBOUND_BODY_BYTES } from '../../../kernel/outbound/sender.ts'
import { openInLane } from '../../../kernel/queue/job-lanes.ts'
import type { Queue } from '../../../kernel/queue/queue.ts'
import { eventToA2a, taskToA2a } from '../a2a-shapes.ts'
import { A2A_PUSH } from './a2a-push.ts'
import type { PushConfigs } from './push-configs.ts'

interface PushQueueParts {
  configs: Pick<PushConfigs, 'hooksOf'>
  queue: Pick<Queue, 'addWithin' | 'wake'>
  logger: Pick<Logger, 'warn'>
}

/** Events that may wait for one hook; those that come on top are not sent. */
const MAX_WAITING = 100

const V1 = new V1PushNotificationSerializer()
const V03 = new V03PushNotificationSerializer()

/**
 * Queues the events of a task for its webhooks, in the transaction that stores the event. Webhooks
 * registered in 1.0 receive a StreamResponse, older ones the bare task. Each webhook has its own
 * lane: it receives its events in order, and one that does not answer delays no other.
 */
export const pushQueue = ({ configs, queue, logger }: PushQueueParts): TaskHooks => ({
  put: async (trx, changes, { taskId, tenantId }) => {
    for (const { id, version } of await configs.hooksOf(trx, taskId, tenantId)) {
      const lane = `${A2A_PUSH}:${taskId}/${id}`
      let waiting = await openInLane(trx, lane, MAX_WAITING)
      for (const { event, task } of changes) {
        const serializer = version.startsWith('1') ? V1 : V03
        const { body, contentType } = serializer.serialize(eventToA2a(event, task), taskToA2a(task))
        if (waiting >= MAX_WAITING || Buffer.byteLength(body) > MAX_OUTBOUND_BODY_BYTES) {
          logger.warn(
            { task: taskId, hook: id, waiting },
            'an event was not queued for its webhook',
          )
          continue
        }
        const payload = { tenant_id: tenantId, task_id: taskId, config_id: id, body }
        await queue.addWithin(trx, {
          kind: A2A_PUSH,
          payload: { ...payload, content_type: contentType },
          tenantId,
          lane,
        })
        waiting++
      }
    }
  },
  wake: queue.wake,
})
