import { createHmac, randomBytes } from 'node:crypto'

/* Standard Webhooks (standard-webhooks/standard-webhooks, spec/standard-webhooks.md). */

/** Begins every secret of a webhook. */
export const WEBHOOK_SECRET_PREFIX = 'whsec_'
const SECRET_BYTES = 32

/** 256 random bits; both sides sign with the bytes behind the prefix. */
export const newWebhookSecret = (): string =>
  WEBHOOK_SECRET_PREFIX + randomBytes(SECRET_BYTES).toString('base64')

export interface SignatureInput {
  id: string
  /** Unix time, whole seconds: the receiver refuses what is old. */
  timestampSeconds: number
  body: string
}

/** `v1,<base64 of HMAC-SHA256 over id.timestamp.body>` for each secret, the newest first. */
export const signatureHeaders = (
  { id, timestampSeconds, body }: SignatureInput,
  secrets: readonly string[],
): Record<string, string> => ({
  'webhook-id': id,
  'webhook-timestamp': String(timestampSeconds),
  'webhook-signature': secrets
    .map(secret => `v1,${hmac(secret, `${id}.${timestampSeconds}.${body}`)}`)
    .join(' '),
})

const hmac = (secret: string, text: string): string =>
  createHmac('sha256', Buffer.from(secret.replace(WEBHOOK_SECRET_PREFIX, ''), 'base64'))
    .update(text)
    .digest('base64')
