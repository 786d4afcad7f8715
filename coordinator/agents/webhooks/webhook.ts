import type { EntityOf } from '../../kernel/store/define-table.ts'
import type { webhookTable } from './webhook.table.ts'

export type Webhook = EntityOf<typeof webhookTable>

/** True for an event that happened after the webhook was created or enabled. */
export const isGoingTo = ({ afterSeq }: Pick<Webhook, 'afterSeq'>, seq: number): boolean =>
  seq > afterSeq

/** Deliveries of one webhook run in order. */
export const webhookLaneOf = (webhookId: string): string => `webhook:${webhookId}`
