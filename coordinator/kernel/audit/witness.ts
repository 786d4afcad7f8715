import type { Ledger } from '../store/store.ts'
import type { Head } from './audit.ts'
import { checkpointFault, type EndorsementCheck, readCheckpoint } from './checkpoint.ts'

/**
 * Returns the reason why a head seen earlier does not match the chain; undefined when its row is
 * present, or was purged under a checkpoint that counts.
 */
export const witnessProblem = async (
  { read }: Ledger,
  { seq, hash }: Head,
  endorses: EndorsementCheck,
): Promise<string | undefined> => {
  const row = await read
    .selectFrom('audit')
    .select('hash')
    .where('seq', '=', seq)
    .executeTakeFirst()
  if (row !== undefined) return isSame(row.hash, { seq, hash })
  const purged = await readCheckpoint(read)
  if (purged === undefined || seq > purged.seq)
    return `row ${seq} was seen and is gone: the end was cut off`
  const known = seq === purged.seq ? purged.hash : hash
  return checkpointFault(purged, endorses) ?? isSame(known, { seq, hash })
}

const isSame = (stored: string, { seq, hash }: Head): string | undefined =>
  stored === hash ? undefined : `row ${seq} is not the one that was seen`
