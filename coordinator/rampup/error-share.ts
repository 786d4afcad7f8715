import { countAll } from '../store/count.ts'
import type { Records } from '../store/store.ts'

export interface ErrorShare {
  requests: number
  failed: number
}

/** Requests that ended on some cells in [from, to), in Unix milliseconds; cancelled ones are left out. */
export const readErrorShare = async (
  { read }: Pick<Records, 'read'>,
  cellIds: readonly string[],
  from: number,
  to: number,
): Promise<ErrorShare> => {
  const rows = await read
    .selectFrom('usage')
    .select(['status', countAll.as('requests')])
    .where('status', 'in', ['ok', 'failed'])
    .where('at', '>=', from)
    .where('at', '<', to)
    .where('cell_id', 'in', cellIds)
    .groupBy('status')
    .execute()
  const count = (status: string): number =>
    Number(rows.find(row => row.status === status)?.requests ?? 0)
  return { requests: count('ok') + count('failed'), failed: count('failed') }
}
