import type { Kysely } from 'kysely'
import type { KeyAlarm } from '../../../discovery/entities/key-evidence.ts'
import type { SightingKey } from '../../../discovery/sighting.ts'
import { iso } from '../../../shared/time.ts'
import { splitList } from '../../kernel/base/split-list.ts'
import type { EventDraft } from '../../kernel/events/bus.ts'
import type { SealedTrx } from '../../kernel/store/store.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'
import { readInParts } from './evidence-rows.ts'

/** Type of the events that report keys in quarantine and keys whose carriers contradict each other. */
const KEY_ALARM_EVENT = 'shoal.discovery.key_alarm'

/** A key that should identify one entity and that several carry. */
export interface KeyAlarmView {
  key: SightingKey
  state: KeyAlarm['state']
  /** Entities that carry the key. */
  entity_ids: string[]
  /** Time of the first alarm for the key. */
  since: string
}

type Reading = Pick<Kysely<LedgerTables>, 'selectFrom'>

/** Rows per statement: the number of its parameters is limited. */
const AT_ONCE = 100

const alarmName = ({ kind, value }: SightingKey): string => `${kind}=${value}`

/**
 * Replaces the alarms of some traces and returns the new ones. An alarm ends when its key joins its
 * carriers again, or when all carriers but one are gone.
 */
export const replaceAlarms = async (
  trx: SealedTrx,
  traceIds: Iterable<string>,
  alarms: readonly KeyAlarm[],
  now: number,
): Promise<KeyAlarm[]> => {
  const known = await readInParts(traceIds, part =>
    trx.selectFrom('discovery_key_alarms').selectAll().where('trace_id', 'in', part).execute(),
  )
  if (known.length === 0 && alarms.length === 0) return []
  const since = new Map(known.map(({ key, state, at }) => [`${key} ${state}`, at]))
  await deleteAlarms(
    trx,
    known.map(({ trace_id }) => trace_id),
  )
  const rows = alarms.flatMap(({ key, state, traces }) => {
    const name = alarmName(key)
    const at = since.get(`${name} ${state}`) ?? now
    return traces.map(trace_id => ({ key: name, trace_id, state, at }))
  })
  for (const part of splitList(rows, AT_ONCE))
    await trx
      .insertInto('discovery_key_alarms')
      .values(part)
      .onConflict(conflict => conflict.doNothing())
      .execute()
  return alarms.filter(({ key, state }) => !since.has(`${alarmName(key)} ${state}`))
}

const deleteAlarms = async (trx: SealedTrx, traceIds: readonly string[]): Promise<void> => {
  for (const part of splitList(traceIds, AT_ONCE))
    await trx.deleteFrom('discovery_key_alarms').where('trace_id', 'in', part).execute()
}

/** Alarms of some entities, or all of them, the newest first. */
export const readAlarms = async (
  db: Reading,
  { entityIds, limit }: { entityIds?: readonly string[]; limit: number },
): Promise<KeyAlarmView[]> => {
  const keys = entityIds === undefined ? await newestKeys(db, limit) : await keysOf(db, entityIds)
  const rows = await readInParts(keys, part =>
    db
      .selectFrom('discovery_key_alarms')
      .innerJoin('discovery_traces', 'discovery_traces.id', 'discovery_key_alarms.trace_id')
      .select(['key', 'state', 'at', 'entity_id', 'trace_id'])
      .where('key', 'in', part)
      .execute(),
  )
  return [...Map.groupBy(rows, ({ key, state }) => `${key} ${state}`).values()]
    .filter(carriers => carriers.length > 1)
    .map(carriers => {
      const [{ key, state }] = carriers as [(typeof carriers)[number]]
      const at = Math.min(...carriers.map(each => each.at))
      return {
        key: keyOf(key),
        state,
        entity_ids: [...new Set(carriers.map(({ entity_id }) => entity_id))].toSorted(),
        since: iso(at),
      }
    })
    .toSorted((a, b) => (a.since < b.since ? 1 : -1))
    .slice(0, limit)
}

const newestKeys = async (db: Reading, limit: number): Promise<string[]> => {
  const rows = await db
    .selectFrom('discovery_key_alarms')
    .select(['key', ({ fn }) => fn.max('at').as('at')])
    .groupBy('key')
    .orderBy('at', 'desc')
    .orderBy('key')
    .limit(limit)
    .execute()
  return rows.map(({ key }) => key)
}

const keysOf = async (db: Reading, entityIds: readonly string[]): Promise<string[]> => {
  const rows = await readInParts(entityIds, part =>
    db
      .selectFrom('discovery_key_alarms')
      .innerJoin('discovery_traces', 'discovery_traces.id', 'discovery_key_alarms.trace_id')
      .select('key')
      .where('entity_id', 'in', part)
      .execute(),
  )
  return rows.map(({ key }) => key)
}

const keyOf = (name: string): SightingKey => {
  const at = name.indexOf('=')
  return { kind: name.slice(0, at) as SightingKey['kind'], value: name.slice(at + 1) }
}

/** Creates the events of new alarms; keys shared by interfaces of one host are not reported. */
export const createAlarmEvents = (
  alarms: readonly KeyAlarm[],
  entityOf: (traceId: string) => string | undefined,
): EventDraft[] =>
  alarms
    .filter(({ state }) => state !== 'shared')
    .map(({ key, state, traces }) => {
      const entity_ids = [...new Set(traces.flatMap(id => entityOf(id) ?? []))].toSorted()
      return { type: KEY_ALARM_EVENT, data: { key, state, entity_ids } }
    })
