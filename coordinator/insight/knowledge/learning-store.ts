import type { Kysely } from 'kysely'
import { HOUR_MS } from '../../../shared/time.ts'
import { type Actor, appendAudit } from '../../kernel/audit/audit.ts'
import { splitList } from '../../kernel/base/split-list.ts'
import type { RowOf } from '../../kernel/store/define-table.ts'
import { bumpRevision } from '../../kernel/store/revisions.ts'
import type { Ledger, SealedTrx } from '../../kernel/store/store.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'
import { graphLearningTable } from './graph-learning.table.ts'
import {
  graphLearningSettingsTable,
  type LearningSettings,
} from './graph-learning-settings.table.ts'

export const DEFAULT_LEARNING: LearningSettings = {
  enabled: true,
  ratePercent: 20,
  halfLifeHours: 168,
}

/** Learned strength of an edge at a time. */
export interface LearnedStrength {
  /** Strength from 0 to 1. */
  strength: number
  /** Unix milliseconds. */
  at: number
}

/** Most edges of one tenant with a learned strength; the weakest beyond are forgotten. */
export const MAX_LEARNED = 5000
/** Strengths below this one are forgotten. */
const MIN_STRENGTH = 0.01
const PPM = 1_000_000
/** Values per statement: the number of its parameters is limited. */
const AT_ONCE = 200

type Reading = Pick<Kysely<LedgerTables>, 'selectFrom'>

/** Computes the strength that is left at a time, in Unix milliseconds. */
export const decayStrength = (
  { strength, at }: LearnedStrength,
  now: number,
  { halfLifeHours }: Pick<LearningSettings, 'halfLifeHours'>,
): number => strength * 0.5 ** (Math.max(0, now - at) / (halfLifeHours * HOUR_MS))

/**
 * Hebbian step with a bound: each unit of gain closes a part of the distance to 1. Gains may be added
 * in any order and grouping.
 */
export const strengthen = (strength: number, gain: number, ratePercent: number): number =>
  1 - (1 - strength) * (1 - ratePercent / 100) ** gain

export const readLearning = async (db: Reading, tenantId: string) => {
  const settings = await readSettings(db, tenantId)
  const rows = await db
    .selectFrom('graph_learning')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .execute()
  return { settings, learned: new Map(rows.map(readStrength)) }
}

/** Learned strength by the key of its edge. */
const readStrength = (row: RowOf<typeof graphLearningTable>): [string, LearnedStrength] => {
  const { edgeKey, strengthPpm, at } = graphLearningTable.read(row)
  return [edgeKey, { strength: strengthPpm / PPM, at }]
}

const readSettings = async (db: Reading, tenantId: string): Promise<LearningSettings> => {
  const row = await db
    .selectFrom('graph_learning_settings')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .executeTakeFirst()
  return row === undefined ? DEFAULT_LEARNING : graphLearningSettingsTable.read(row)
}

/**
 * Adds gains to the strengths as they are stored, each first decayed to now. The sealed lane runs one
 * work at a time over all coordinators, so gains of several coordinators add up.
 */
export const addGains = (
  ledger: Pick<Ledger, 'sealed'>,
  tenantId: string,
  gains: ReadonlyMap<string, number>,
  now: number,
): Promise<void> =>
  ledger.sealed.write(async trx => {
    const settings = await readSettings(trx, tenantId)
    if (!settings.enabled) return
    for (const part of splitList([...gains.keys()], AT_ONCE)) {
      const stored = await readStrengths(trx, tenantId, part)
      const rows = part.map(key => {
        const old = stored.get(key)
        const left = old === undefined ? 0 : decayStrength(old, now, settings)
        const strength = strengthen(left, gains.get(key) ?? 0, settings.ratePercent)
        const strengthPpm = Math.round(strength * PPM)
        return graphLearningTable.write({ tenantId, edgeKey: key, strengthPpm, at: now })
      })
      await putStrengths(trx, rows)
    }
    await bumpRevision(trx, 'graph_learning')
  })

const readStrengths = async (trx: SealedTrx, tenantId: string, keys: readonly string[]) => {
  const rows = await trx
    .selectFrom('graph_learning')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('edge_key', 'in', keys)
    .execute()
  return new Map(rows.map(readStrength))
}

const putStrengths = async (
  trx: SealedTrx,
  rows: readonly LedgerTables['graph_learning'][],
): Promise<void> => {
  await trx
    .insertInto('graph_learning')
    .values(rows)
    .onConflict(conflict =>
      conflict.columns(['tenant_id', 'edge_key']).doUpdateSet(row => ({
        strength_ppm: row.ref('excluded.strength_ppm'),
        at: row.ref('excluded.at'),
      })),
    )
    .execute()
}

/** Changes the settings of a tenant; `forget` deletes every learned strength. */
export const setLearning = (
  ledger: Pick<Ledger, 'sealed'>,
  {
    tenantId,
    forget,
    ...wanted
  }: Partial<LearningSettings> & { tenantId: string; forget: boolean },
  by: Actor,
  now: number,
): Promise<void> =>
  ledger.sealed.write(async trx => {
    const settings = { ...(await readSettings(trx, tenantId)), ...wanted, tenantId }
    const { tenant_id, ...values } = graphLearningSettingsTable.write(settings)
    await trx
      .insertInto('graph_learning_settings')
      .values({ tenant_id, ...values })
      .onConflict(conflict => conflict.column('tenant_id').doUpdateSet(values))
      .execute()
    if (forget) await trx.deleteFrom('graph_learning').where('tenant_id', '=', tenantId).execute()
    const about = { tenant: tenantId, action: 'graph.learning', subject: tenantId }
    const details = { ...values, forget }
    await appendAudit(trx, { ...by, at: now, ...about, outcome: 'done', details })
    await bumpRevision(trx, 'graph_learning')
  })

/** Deletes strengths that have decayed to nothing, and the weakest ones beyond `MAX_LEARNED`. */
export const forgetWeakStrengths = async (ledger: Ledger, now: number): Promise<void> => {
  const tenants = await ledger.read
    .selectFrom('graph_learning')
    .select('tenant_id')
    .distinct()
    .execute()
  for (const { tenant_id: tenantId } of tenants) {
    const { settings, learned } = await readLearning(ledger.read, tenantId)
    const strongest = [...learned]
      .map(([key, each]) => ({ key, left: decayStrength(each, now, settings), at: each.at }))
      .toSorted((a, b) => b.left - a.left)
    const weak = strongest.filter(({ left }, rank) => left < MIN_STRENGTH || rank >= MAX_LEARNED)
    for (const part of splitList(weak, AT_ONCE))
      await ledger.sealed.write(async trx => {
        for (const { key, at } of part)
          await trx
            .deleteFrom('graph_learning')
            .where('tenant_id', '=', tenantId)
            .where('edge_key', '=', key)
            .where('at', '=', at)
            .execute()
      })
    if (weak.length > 0) await ledger.sealed.write(trx => bumpRevision(trx, 'graph_learning'))
  }
}
