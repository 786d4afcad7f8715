import { triggersOf } from '../store/sqlite.ts'
import type { Ledger } from '../store/store.ts'

/** True when the store itself refuses to change and to delete rows of the audit. */
export const isAppendOnly = async ({ read }: Ledger): Promise<boolean> => {
  const triggers = await triggersOf(read, 'audit')
  return ['audit_no_update', 'audit_no_delete'].every(name => triggers.includes(name))
}
