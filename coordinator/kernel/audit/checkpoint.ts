import type { Kysely } from 'kysely'
import { canonicalJson } from '../../../shared/canonical-json.ts'
import { isGenuine, type Signer, signMessage } from '../../../shared/signing.ts'
import type { LedgerTables } from '../store/tables.ts'
import type { AuditRow } from './audit.table.ts'
import type { AuditCheckpointRow } from './audit-checkpoint.table.ts'

/** Record of the purged rows: all rows from 1 to `seq`. The first remaining row continues it. */
export type Checkpoint = Omit<AuditCheckpointRow, 'id'>

/** True for keys whose signature under a checkpoint counts. */
export type EndorsementCheck = (keyId: string) => boolean

/** The row of the chain that a purge leaves. */
export const PURGE_ACTION = 'audit.purge'
const PURPOSE = 'audit-checkpoint'

export const signCheckpoint = (
  body: Omit<Checkpoint, 'key_id' | 'signature'>,
  signer: Signer,
): Checkpoint => signMessage(PURPOSE, body, signer)

type Reader = Pick<Kysely<LedgerTables>, 'selectFrom'>

/** The newest one, which tells of everything that was ever purged. Not checked. */
export const readCheckpoint = async (db: Reader): Promise<Checkpoint | undefined> => {
  const row = await db.selectFrom('audit_checkpoint').selectAll().executeTakeFirst()
  if (row === undefined) return undefined
  const { id: _, ...checkpoint } = row
  return checkpoint
}

/**
 * Returns the reason why the rows before a checkpoint do not count as purged; undefined when they
 * do.
 */
export const checkpointFault = (
  checkpoint: Checkpoint,
  endorses: EndorsementCheck,
): string | undefined =>
  endorses(checkpoint.key_id) && isGenuine(PURPOSE, checkpoint, checkpoint.key_id)
    ? undefined
    : `rows up to ${checkpoint.seq} are gone, and no purge of ours has signed for them`

/** True for the row of the purge that made exactly this checkpoint. */
export const tellsOf = (
  { action, details_json }: Pick<AuditRow, 'action' | 'details_json'>,
  checkpoint: Checkpoint,
): boolean => action === PURGE_ACTION && details_json === canonicalJson(checkpoint)
