import type { CloudEvent } from '../../kernel/events/bus.ts'
import { topicOf } from '../../kernel/events/topics.ts'

interface Place {
  /** Resource that lists such items, and the prefix of a single item's address. */
  list: string
  one?: string
  /** Flag of a list with only the items of its reader, whose id is in the event. */
  isOwn?: true
}

/** Resources that show the subject of an event, by the kind of event. */
const PLACES: Readonly<Record<string, Place>> = {
  cell: { list: 'shoal://cells', one: 'shoal://cells/' },
  alert: { list: 'shoal://alerts' },
  gate: { list: 'shoal://gates/requests', one: 'shoal://gates/requests/' },
  fleet: { list: 'shoal://cells' },
  model: { list: 'shoal://cells' },
  audit: { list: 'shoal://audit' },
  session: { list: 'shoal://sessions', one: 'shoal://sessions/', isOwn: true },
}

/** Reader of a subscription. Its access to the resource was checked when the subscription began. */
export interface SubscriptionReader {
  tenantId: string
  personId: string
}

/**
 * Addresses of the resources that changed for this listener. Events of other tenants are excluded,
 * since the time of a change would reveal hidden content.
 */
export const listChangedUris = (
  { type, subject, data }: Pick<CloudEvent, 'type' | 'subject' | 'data'>,
  { tenantId, personId }: SubscriptionReader,
): string[] => {
  const kind = type.split('.')[1] ?? ''
  const place = Object.hasOwn(PLACES, kind) ? PLACES[kind] : undefined
  const topic = topicOf(type)
  if (place === undefined || topic === undefined) return []
  const told = (data ?? {}) as { tenant_id?: unknown; person_id?: unknown }
  if (topic.scope === 'tenant' && told.tenant_id !== tenantId) return []
  const list = place.isOwn && told.person_id !== personId ? [] : [place.list]
  return subject === undefined || place.one === undefined ? list : [...list, place.one + subject]
}
