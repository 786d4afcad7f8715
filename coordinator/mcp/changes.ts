import type { CloudEvent } from '../events/bus.ts'
import { topicOf } from '../events/topics.ts'

interface Place {
  /** The resource that lists such things, and where one of them is. */
  list: string
  one?: string
  /** The list has those of its reader alone, who is named in the event. */
  isOwn?: true
}

/** Resources that show what an event of a kind is about. */
const PLACES: Readonly<Record<string, Place>> = {
  cell: { list: 'shoal://cells', one: 'shoal://cells/' },
  alert: { list: 'shoal://alerts' },
  gate: { list: 'shoal://gates/requests', one: 'shoal://gates/requests/' },
  fleet: { list: 'shoal://cells' },
  model: { list: 'shoal://cells' },
  audit: { list: 'shoal://audit' },
  session: { list: 'shoal://sessions', one: 'shoal://sessions/', isOwn: true },
}

/** Who listens. That they may read the resource at all was checked when they began. */
export interface Listener {
  tenantId: string
  personId: string
}

/**
 * Addresses of the resources that changed for this listener. Events of other tenants are excluded,
 * since the time of a change would reveal hidden content.
 */
export const changedFor = (
  { type, subject, data }: Pick<CloudEvent, 'type' | 'subject' | 'data'>,
  { tenantId, personId }: Listener,
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
