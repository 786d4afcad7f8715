import * as z from 'zod'

/** `Authorization` header that a webhook expects. */
const WebhookAuthentication = z.object({
  scheme: z.string().default(''),
  credentials: z.string().optional(),
})

/** Address that the events of a task are sent to, as it is stored; secrets are sealed there. */
export const StoredWebhook = z.object({
  url: z.string().default(''),
  /** Value of `X-A2A-Notification-Token`. */
  token: z.string().optional(),
  authentication: WebhookAuthentication.optional(),
  /** Version of A2A in which the webhook expects its events. */
  wireVersion: z.string().default('0.3'),
})

/** Webhook for the events of a task. */
export interface TaskWebhook
  extends Pick<z.output<typeof StoredWebhook>, 'url' | 'token' | 'authentication'> {
  id: string
  taskId: string
}
