import type * as z from 'zod'
import { iso } from '../../../../../shared/time.ts'
import type { EntityViews } from '../../../../discovery/entities/open-entities.ts'
import type { Alert } from '../../../../fleet/alerts/alert.ts'
import type { MonitorViews } from '../../../../fleet/alerts/open-monitor.ts'
import type { AuditViews } from '../../../../kernel/audit/open.ts'
import type { Context } from '../../../../kernel/declaration/context.ts'
import { scopeOf } from '../../../../kernel/declaration/tenant-scope.ts'
import type { Event, Narrative } from './aspects.ts'

const SPAN_MS = 24 * 3_600_000
/** Events in a narrative, and rows that are read of one source. */
const SHOWN = 100

/**
 * Lists the events of the last 24 hours with their times: rows of the audit that the tenant may see,
 * alerts, and changes of the inventory. Every event has the id under which its source keeps it.
 */
export const buildNarrative = async (
  context: Context & AuditViews & MonitorViews & EntityViews,
): Promise<z.input<typeof Narrative>> => {
  const { audit, monitor, entityQuery } = context
  const from = context.now() - SPAN_MS
  const filter = { from, order: 'newest', limit: SHOWN + 1 } as const
  const rows = await audit.query(filter, scopeOf(context))
  const { total, deltas } = await readNewestDeltas(entityQuery, from)
  const events: Event[] = [
    ...rows.map(({ seq, at, actor, action, subject, outcome }) => ({
      event_id: `audit:${seq}`,
      at: iso(at),
      text: `${actor}: ${action} on ${subject}, ${outcome}.`,
    })),
    ...monitor.alerts().flatMap(alert => eventsOf(alert, from)),
    ...deltas.map(({ seq, at, kind, entity_id }) => ({
      event_id: `discovery:${seq}`,
      at: iso(at),
      text: `Discovery: ${entity_id} ${kind.replaceAll('_', ' ')}.`,
    })),
  ]
  events.sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0))
  const isCut = events.length > SHOWN || total > deltas.length
  return { since: iso(from), events: events.slice(0, SHOWN), is_cut: isCut }
}

/** Deltas are read from the oldest on: those before the newest ones are skipped by their number. */
const readNewestDeltas = async (entityQuery: EntityViews['entityQuery'], since: number) => {
  const counts = await entityQuery.countDeltas(since)
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0)
  const [first] = await entityQuery.deltas({ since, limit: 1 })
  const after = (first?.seq ?? 1) - 1 + Math.max(0, total - SHOWN)
  return { total, deltas: await entityQuery.deltas({ since, after, limit: SHOWN }) }
}

const eventsOf = (alert: Alert, from: number): Event[] => {
  const { id, level, message, raisedAt, clearedAt } = alert
  const event = (at: number, what: string): Event[] =>
    at < from ? [] : [{ event_id: `alert:${id}`, at: iso(at), text: `${what}: ${message}` }]
  return [
    ...event(raisedAt, `Alert (${level}) raised`),
    ...(clearedAt === undefined ? [] : event(clearedAt, 'Alert cleared')),
  ]
}
