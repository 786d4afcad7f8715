import type { Logger } from 'pino'
import type { TraceHash } from '../../../discovery/entities/trace.ts'
import { createUnknownError } from '../../../shared/reference-errors.ts'
import { type Actor, appendAudit } from '../../kernel/audit/audit.ts'
import { splitList } from '../../kernel/base/split-list.ts'
import type { Events } from '../../kernel/events/bus.ts'
import type { RowOf } from '../../kernel/store/define-table.ts'
import { readEach } from '../../kernel/store/read-each.ts'
import type { Ledger, Records, SealedTrx } from '../../kernel/store/store.ts'
import type { ModuleObserver } from '../modules/module-observer.ts'
import type { ModuleResults } from '../modules/module-results.ts'
import { discoveryPinTable, pinnedTraces } from './discovery-pin.table.ts'
import type { Publish } from './entity-recorder.ts'
import { deleteEntity } from './entity-rows.ts'
import {
  eraseFromDeltas,
  eraseFromEvents,
  eraseFromNewDeltas,
  eraseFromNewEvents,
  eraseFromOthers,
} from './erase-mentions.ts'
import { eraseFromResults } from './erase-results.ts'
import { deleteTraces, readTracesOf, type StoredTrace } from './evidence-rows.ts'
import { collectMentions, type Mentions } from './mentions.ts'

export interface ErasureParts {
  ledger: Pick<Ledger, 'sealed' | 'read' | 'overwriteDeleted'>
  records: Pick<Records, 'overwriteDeleted'>
  results: Pick<ModuleResults, 'edit'>
  observer: Pick<ModuleObserver, 'observe'>
  events: Pick<Events, 'reload'>
  publish: Publish
  pseudonyms: TraceHash
  logger: Pick<Logger, 'warn'>
  now: () => number
}

/** Traces per statement: the number of its parameters is limited. */
const AT_ONCE = 100

/**
 * Deletes everything that is known of an entity, also from the records of others; a later sighting
 * records it again. The entity itself is deleted last, so that an interrupted erasure can be repeated.
 * @throws ShoalError not_found
 */
export const eraseEntity = async (
  parts: ErasureParts,
  entityId: string,
  by: Actor,
): Promise<void> => {
  const { ledger, records, events } = parts
  const traces = await readTracesOf(ledger.read, [entityId])
  if (traces.length === 0) throw createUnknownError('entity', entityId)
  const ids = listIds(entityId, traces)
  const mentions = collectMentions(ids, traces)
  await eraseFromResults(parts, traces, mentions)
  await eraseFromOthers(ledger, mentions, id => ids.has(id))
  const lastDelta = await eraseFromDeltas(ledger, mentions)
  const lastEvent = await eraseFromEvents(ledger, mentions, id => ids.has(id))
  const erasure = { entityId, mentions, lastDelta, lastEvent, by }
  await ledger.sealed.write(trx => eraseWithin(trx, parts, erasure))
  await events.reload()
  await ledger.overwriteDeleted()
  await records.overwriteDeleted()
}

/** Ids of the entity and of those that were merged into it. */
const listIds = (entityId: string, traces: readonly StoredTrace[]): ReadonlySet<string> =>
  new Set([entityId, ...traces.map(({ foundedId }) => foundedId)])

interface Erasure {
  entityId: string
  mentions: Mentions
  /** Numbers of the last delta and the last event that were checked. */
  lastDelta: number
  lastEvent: number
  by: Actor
}

const eraseWithin = async (
  trx: SealedTrx,
  { publish, now }: ErasureParts,
  { entityId, mentions, lastDelta, lastEvent, by }: Erasure,
): Promise<void> => {
  const traces = await readTracesOf(trx, [entityId])
  const ids = listIds(entityId, traces)
  const traceIds = traces.map(trace => trace.id)
  await deletePins(trx, ids, new Set(traceIds))
  for (const part of splitList(traceIds, AT_ONCE)) await deleteTraces(trx, part)
  for (const id of ids) {
    await trx.deleteFrom('discovery_deltas').where('entity_id', '=', id).execute()
    await deleteEntity(trx, id)
  }
  await eraseFromNewDeltas(trx, mentions, lastDelta)
  await eraseFromNewEvents(trx, mentions, id => ids.has(id), lastEvent)
  const audit = { action: 'discovery.erase', subject: entityId, outcome: 'done' } as const
  await appendAudit(trx, { ...by, ...audit, at: now() })
  const nothing = { field: null, before: null, after: null, other_id: null, name: null }
  await publish(trx, [{ ...nothing, kind: 'erased', entity_id: entityId }])
}

/** Tells whether a decision is about the traces, by the text of its row when it cannot be read. */
const isPinAbout = (
  row: RowOf<typeof discoveryPinTable>,
  traceIds: ReadonlySet<string>,
): boolean => {
  const [pin] = readEach([row], discoveryPinTable.read, undefined)
  if (pin === undefined) return [...traceIds].some(trace => `${row.body_json}`.includes(trace))
  const { traces, others } = pinnedTraces(pin)
  return [...traces, ...others].some(trace => traceIds.has(trace))
}

/** Deletes decisions about the entity, and decisions that have no effect without its traces. */
const deletePins = async (
  trx: SealedTrx,
  ids: ReadonlySet<string>,
  traceIds: ReadonlySet<string>,
): Promise<void> => {
  const rows = await trx.selectFrom('discovery_pins').selectAll().execute()
  for (const row of rows) {
    const isAbout = isPinAbout(row, traceIds)
    if (ids.has(row.entity_id) || isAbout)
      await trx.deleteFrom('discovery_pins').where('id', '=', row.id).execute()
  }
}
