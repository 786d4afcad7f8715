import { type AuditEntry, appendAudit } from '../../kernel/audit/audit.ts'
import { bumpRevision } from '../../kernel/store/revisions.ts'
import { nextSequence } from '../../kernel/store/sequences.ts'
import type { Ledger, SealedTrx } from '../../kernel/store/store.ts'
import { commandTable } from './command.table.ts'
import {
  type CommandChange,
  type CommandRecord,
  isFinalCommandState,
  NO_ANSWER,
  NOT_SENT,
  openStatesUpTo,
  toStoredCommand,
} from './command.ts'

/** Ended commands are kept this long; the audit keeps its rows. */
const KEPT_MS = 30 * 24 * 3600 * 1000

/**
 * Returns the next fence of a cell. Fences also follow the clock, so that an old copy of the store
 * does not reuse them.
 */
export const nextFence = (trx: SealedTrx, cellId: string, now: number): Promise<number> =>
  nextSequence(trx, `command-fence:${cellId}`, now)

/**
 * Stores a new command together with its audit entry. One that nobody holds is offered to every
 * coordinator.
 */
export const insertCommand = async (
  trx: SealedTrx,
  record: CommandRecord,
  entry: AuditEntry,
): Promise<void> => {
  await trx
    .insertInto('commands')
    .values(commandTable.write(toStoredCommand(record)))
    .execute()
  if (record.holder === undefined) await bumpRevision(trx, 'commands')
  await appendAudit(trx, entry)
}

/**
 * Stores the changes that the store's own state allows; a final state adds an audit entry, once
 * over all coordinators. A change of a command that another coordinator knows bumps the revision.
 * Returns the ids of the commands that have gone on elsewhere.
 */
export const updateCommands = (
  ledger: Ledger,
  changes: readonly CommandChange[],
  coordinator: string,
): Promise<string[]> =>
  ledger.sealed.write(async trx => {
    const overtaken: string[] = []
    for (const change of changes)
      if (!(await updateCommand(trx, change))) overtaken.push(change.record.id)
      else if (isFinalCommandState(change.record.state))
        await appendAudit(trx, endOf(change.record))
    const isKnownElsewhere = changes.some(({ record }) => record.holder !== coordinator)
    if (isKnownElsewhere && overtaken.length < changes.length) await bumpRevision(trx, 'commands')
    return overtaken
  })

const updateCommand = async (
  trx: SealedTrx,
  { record, follows }: CommandChange,
): Promise<boolean> => {
  const { id, cell_id, signed_json, holder, ...values } = commandTable.write(
    toStoredCommand(record),
  )
  const query = trx
    .updateTable('commands')
    .set(values)
    .where('id', '=', id)
    .where('state', 'in', follows)
    .where(({ eb, or }) => or([eb('state', '!=', 'expired'), eb('reason', '=', NOT_SENT)]))
  // an ack of the cell replaces `unknown` only where the cell had not answered
  const known =
    record.state === 'unknown'
      ? query.where(({ eb, or }) =>
          or([eb('state', '!=', 'unknown'), eb('reason', '=', NO_ANSWER)]),
        )
      : query
  const limited = record.state === 'sent' ? known.where('sends', '<=', record.sends) : known
  return (await limited.executeTakeFirst()).numUpdatedRows > 0n
}

/**
 * Records that a command is about to be sent for the `sends`-th time. False when another
 * coordinator has sent it as often, or when it needs no sending any more. A repeated claim counts
 * a record of this very sending as its own: nobody may have sent it, and the cell accepts a command
 * once, however often it comes.
 */
export const claimSending = (
  ledger: Ledger,
  { id, sends, updatedAt, holder }: CommandRecord,
  coordinator: string,
  isRepeated: boolean,
): Promise<boolean> =>
  ledger.sealed.write(async trx => {
    const { numUpdatedRows } = await trx
      .updateTable('commands')
      .set({ state: 'sent', sends, updated_at: updatedAt })
      .where('id', '=', id)
      .where('state', 'in', openStatesUpTo('sent'))
      .where('sends', isRepeated ? '<=' : '<', sends)
      .executeTakeFirst()
    const isClaimed = numUpdatedRows > 0n
    if (isClaimed && holder !== coordinator) await bumpRevision(trx, 'commands')
    return isClaimed
  })

/** Offers commands that a coordinator holds to every coordinator with a connection to their cells. */
export const offerCommands = (
  ledger: Ledger,
  ids: readonly string[],
  coordinator: string,
): Promise<void> =>
  ledger.sealed.write(async trx => {
    await trx
      .updateTable('commands')
      .set({ holder: null })
      .where('id', 'in', ids)
      .where('holder', '=', coordinator)
      .execute()
    await bumpRevision(trx, 'commands')
  })

const endOf = ({ id, cellId, verb, state, reason, updatedAt }: CommandRecord): AuditEntry => ({
  actor: `cell:${cellId}`,
  at: updatedAt,
  action: `command.${state}`,
  subject: id,
  outcome: state === 'succeeded' ? 'done' : 'refused',
  details: { verb, ...(reason === undefined ? {} : { reason }) },
})

export const forgetOld = (ledger: Ledger, now: number): Promise<void> =>
  ledger.free.write(async trx => {
    await trx
      .deleteFrom('commands')
      .where('issued_at', '<', now - KEPT_MS)
      .execute()
  })
