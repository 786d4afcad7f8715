import type { Transaction } from 'kysely'
import type { Ledger } from '../../kernel/store/store.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'

type Trx = Transaction<LedgerTables>

/** Deletes some of the runs that ended before a time; returns true while there may be others. */
export const forgetRuns = (
  { free }: Pick<Ledger, 'free'>,
  before: number,
  atMost: number,
): Promise<boolean> =>
  free.write(async trx => {
    const query = trx.selectFrom('flow_runs').select('id').where('ended_at', '<', before)
    const ids = (await query.limit(atMost).execute()).map(({ id }) => id)
    if (ids.length === 0) return false
    await trx.deleteFrom('flow_steps').where('run_id', 'in', ids).execute()
    await trx.deleteFrom('flow_runs').where('id', 'in', ids).execute()
    return ids.length === atMost
  })

/** Outputs that are searched in one transaction. */
const ERASED_AT_ONCE = 200

/**
 * Deletes the outputs of steps of a tenant that name a person; a later step that needs one fails.
 * Returns their number.
 */
export const eraseFromOutputs = async (
  { free }: Pick<Ledger, 'free'>,
  tenantId: string,
  personId: string,
): Promise<number> => {
  const text = JSON.stringify(personId)
  let erased = 0
  for (let after: string | undefined = ''; after !== undefined; ) {
    const from: string = after
    const page = await free.write(async trx => {
      const ids = await listRunIds(trx, tenantId, from)
      if (ids.length === 0) return { next: undefined, erased: 0 }
      const rows = await trx
        .selectFrom('flow_steps')
        .select(['run_id', 'position', 'undo', 'output_json'])
        .where('run_id', 'in', ids)
        .where('output_json', 'is not', null)
        .execute()
      const naming = rows.filter(({ output_json }) => output_json?.includes(text))
      for (const { run_id, position, undo } of naming)
        await trx
          .updateTable('flow_steps')
          .set({ output_json: null, reason: ERASED })
          .where('run_id', '=', run_id)
          .where('position', '=', position)
          .where('undo', '=', undo)
          .execute()
      return { next: ids.length === ERASED_AT_ONCE ? ids.at(-1) : undefined, erased: naming.length }
    })
    erased += page.erased
    after = page.next
  }
  return erased
}

const ERASED = 'its output named a person who was erased'

const listRunIds = async (trx: Trx, tenantId: string, after: string): Promise<string[]> => {
  const rows = await trx
    .selectFrom('flow_runs')
    .select('id')
    .where('tenant_id', '=', tenantId)
    .where('id', '>', after)
    .orderBy('id')
    .limit(ERASED_AT_ONCE)
    .execute()
  return rows.map(({ id }) => id)
}
