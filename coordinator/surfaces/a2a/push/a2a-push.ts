import * as z from 'zod'
import type { WebhooksConfig } from '../../../agents/webhooks/webhooks-config.ts'
import type { TaskWebhook } from '../../../calls/tasks/task-webhook.ts'
import { deliveryLimits } from '../../../kernel/outbound/delivery-limits.ts'
import { asJobFailure } from '../../../kernel/outbound/job-failure.ts'
import type { Sender } from '../../../kernel/outbound/sender.ts'
import {
  type SignatureInput,
  signatureHeaders,
  WEBHOOK_SECRET_PREFIX,
} from '../../../kernel/outbound/signature.ts'
import { JobError } from '../../../kernel/queue/job-error.ts'
import { defineJobKind, type JobKind } from '../../../kernel/queue/job-kind.ts'
import type { HookPlace } from './hook-access.ts'
import type { PushConfigs } from './push-configs.ts'

export interface PushParts {
  /** Hooks of tasks are tried as often as webhooks are. */
  config: Pick<WebhooksConfig, 'max_attempts' | 'retry_first_seconds'>
  configs: Pick<PushConfigs, 'listWithSecrets'>
  sender: Pick<Sender, 'send'>
  /** True when the creator of the webhook can currently see its task. */
  isSeen: (hook: HookPlace) => Promise<boolean>
  /** True when the tenant is currently disabled. */
  isShut: (tenantId: string) => Promise<boolean>
  /** Unix time, milliseconds. */
  now: () => number
}

export const A2A_PUSH = 'a2a-push'

/** The hook's secrets are no part of it: they are read when it is sent. */
const PushPayload = z.object({
  tenant_id: z.string(),
  task_id: z.string(),
  config_id: z.string(),
  body: z.string(),
  content_type: z.string(),
})

const GONE = 410
const LATER = { early: true, retryAfterSeconds: 60 }
const BUSY = [429, 503]

/** One event of a task on its way to one hook. */
export const a2aPush = ({ config, configs, sender, isSeen, isShut, now }: PushParts): JobKind =>
  defineJobKind({
    kind: A2A_PUSH,
    payload: PushPayload,
    account: () => ({ project: 'task-hooks' }),
    ...deliveryLimits(config),

    run: async (payload, { job, signal }) => {
      const { tenant_id, task_id, config_id, body, content_type } = payload
      const hook = (await configs.listWithSecrets(task_id, tenant_id)).find(
        ({ id }) => id === config_id,
      )
      // it was taken away, or its task was: nobody waits for this any more
      if (hook === undefined) return
      // waiting notifications are sent when the tenant is enabled again
      if (await isShut(tenant_id)) throw new JobError('the tenant is disabled', LATER)
      // a notification reveals no more than the creator of the webhook can read
      if (!(await isSeen({ taskId: task_id, tenantId: tenant_id, configId: config_id }))) return
      const timestampSeconds = Math.floor(now() / 1000)
      const headers = {
        'content-type': content_type,
        ...hookHeaders(hook, { id: job.id, timestampSeconds, body }),
      }
      const { status, retryAfterSeconds } = await sender
        .send({ url: hook.url, headers, body }, signal)
        .catch(error => {
          throw asJobFailure(error)
        })
      if (status >= 200 && status < 300) return
      throw new JobError(`the webhook answered ${status}`, {
        final: status === GONE,
        retryAfterSeconds: BUSY.includes(status) ? retryAfterSeconds : 0,
      })
    },
  })

/** A2A specification 1.0, section 4.3.3; the `webhook-` ones as Standard Webhooks has them. */
const hookHeaders = (
  { token, authentication }: TaskWebhook,
  signed: SignatureInput,
): Record<string, string> => {
  const { scheme = '', credentials = '' } = authentication ?? {}
  return {
    'webhook-id': signed.id,
    'webhook-timestamp': String(signed.timestampSeconds),
    ...(token === undefined
      ? {}
      : { 'x-a2a-notification-token': token, ...signatureHeaders(signed, [secretOf(token)]) }),
    ...(scheme !== '' && credentials !== '' ? { authorization: `${scheme} ${credentials}` } : {}),
  }
}

/** A token that is a secret of Standard Webhooks signs as that; any other with its own bytes. */
const secretOf = (token: string): string =>
  token.startsWith(WEBHOOK_SECRET_PREFIX) ? token : Buffer.from(token).toString('base64')
