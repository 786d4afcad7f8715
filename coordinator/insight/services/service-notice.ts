import { readFile } from 'node:fs/promises'
import * as z from 'zod'
import { deliveryLimits } from '../../kernel/outbound/delivery-limits.ts'
import { asJobFailure } from '../../kernel/outbound/job-failure.ts'
import type { Sender } from '../../kernel/outbound/sender.ts'
import { JobError } from '../../kernel/queue/job-error.ts'
import { defineJobKind, type JobKind } from '../../kernel/queue/job-kind.ts'
import type { NewJob } from '../../kernel/queue/job-store.ts'
import type { NoticesConfig } from './services-config.ts'

const SERVICE_NOTICE = 'service-notice'

const Payload = z.object({ place: z.enum(['matrix', 'webhook']), text: z.string() })

/** Creates one notice for each configured place; an incident is reported once. */
export const createNoticeJobs = (
  config: NoticesConfig,
  { text, about, tenantId }: { text: string; about: string; tenantId: string },
): NewJob[] => {
  const places = [
    ...(config.matrix === undefined ? [] : ['matrix']),
    ...(config.webhook_url === undefined ? [] : ['webhook']),
  ]
  return places.map(place => ({
    kind: SERVICE_NOTICE,
    payload: { place, text },
    tenantId,
    onceKey: `${about}:${place}`,
  }))
}

/** Sends a notice to a Matrix room or a webhook. */
export const createNoticeKind = ({
  config,
  sender,
}: {
  config: NoticesConfig
  sender: Pick<Sender, 'send'>
}): JobKind =>
  defineJobKind({
    kind: SERVICE_NOTICE,
    payload: Payload,
    account: () => ({ project: 'services' }),
    ...deliveryLimits({ max_attempts: 8, retry_first_seconds: 2 }),
    run: async ({ place, text }, { job, signal }) => {
      const message = await (place === 'matrix'
        ? matrixMessage(config, text, job.id)
        : webhookMessage(config, text, job.id))
      const { status } = await sender.send(message, signal).catch(error => {
        throw asJobFailure(error)
      })
      if (status < 200 || status > 299) throw new JobError(`the ${place} answered ${status}`)
    },
  })

/** `PUT …/send/{eventType}/{txnId}` (Matrix client API): a repetition with the id sends nothing. */
const matrixMessage = async ({ matrix }: NoticesConfig, text: string, id: string) => {
  if (matrix === undefined) throw new JobError('notices.matrix is not configured', { final: true })
  const { homeserver_url, room_id, token_file } = matrix
  const token = (await readFile(token_file, 'utf8')).trim()
  const room = encodeURIComponent(room_id)
  return {
    method: 'PUT' as const,
    url: `${homeserver_url.replace(/\/+$/, '')}/_matrix/client/v3/rooms/${room}/send/m.room.message/${id}`,
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify({ msgtype: 'm.notice', body: text }),
  }
}

const webhookMessage = async ({ webhook_url }: NoticesConfig, text: string, id: string) => {
  if (webhook_url === undefined)
    throw new JobError('notices.webhook_url is not configured', { final: true })
  return {
    url: webhook_url,
    headers: { 'content-type': 'application/json', 'idempotency-key': id },
    body: JSON.stringify({ text }),
  }
}
