import type { Transaction } from 'kysely'
import type { Logger } from 'pino'
import { ShoalError } from '../../shared/errors.ts'
import { CELL_ID, newId } from '../../shared/ids.ts'
import { type Actor, appendAudit } from '../audit/audit.ts'
import { bumpRevision } from '../store/revisions.ts'
import type { Store } from '../store/store.ts'
import type { CellRow, LedgerTables } from '../store/tables.ts'
import { useToken } from './join-tokens.ts'
import { digestOf, parseSecret, randomSecret, TOKEN_PREFIX } from './secret.ts'
import { Verifier } from './verifier.ts'

/** A machine that was enrolled: its identity, not its presence. */
export interface Cell {
  id: string
  name: string
  tokenId: string
  enrolledAt: number
  revokedAt?: number
  /** Highest boot epoch the cell has shown. */
  epoch: number
}

export interface Cells {
  /** Throws `auth_required` for any token that is not good, always in the same words. */
  enrol(request: { token: string; name: string }): Promise<{ cellId: string; credential: string }>
  /** The cell whose credential this is, unless it was revoked. Synchronous when in memory. */
  authenticate(cellId: string, credential: string): Cell | undefined | Promise<Cell | undefined>
  /**
   * The highest boot epoch of the cell, after this one was seen. More than `epoch` means that the
   * message is from before a restart. Throws `not_found`.
   */
  noteEpoch(cellId: string, epoch: number): Promise<number>
  /** Effective when it resolves here, and within a second in other processes. */
  revoke(cellId: string, by: Actor): Promise<Cell>
  get(cellId: string): Promise<Cell | undefined>
  /** Oldest first. */
  list(): Promise<Cell[]>
  /** Calls back when another process changed some cell: live connections must be checked again. */
  onChange(listener: () => void): () => void
  close(): void
}

export interface CellsOptions {
  store: Store
  /** Told why an enrolment was refused, which the caller is not. */
  logger?: Pick<Logger, 'warn'>
  now?: () => number
}

export const createCells = ({ store, logger, now = Date.now }: CellsOptions): Cells => {
  const { ledger } = store
  const verifier = new Verifier<Cell>({ load: id => load(store, id) })
  const stopWatching = store.revisions.onChange('cells', () => verifier.clear())

  const enrol: Cells['enrol'] = async ({ token, name }) => {
    const tokenId = parseSecret(TOKEN_PREFIX, token)
    if (tokenId === undefined) throw refused(logger, 'malformed')
    const credential = randomSecret()
    const digest = digestOf(credential).toString('hex')
    const row: CellRow = {
      id: newId('cell', now()),
      name,
      digest,
      token_id: tokenId,
      enrolled_at: now(),
      revoked_at: null,
      epoch: 0,
    }
    const reason = await ledger.write(trx => admit(trx, row, token, now()))
    if (reason !== undefined) throw refused(logger, reason, tokenId)
    verifier.forget(row.id)
    return { cellId: row.id, credential }
  }

  const authenticate: Cells['authenticate'] = (cellId, credential) => {
    if (!CELL_ID.test(cellId)) return undefined
    const found = verifier.verify(cellId, credential)
    return found instanceof Promise ? found.then(live) : live(found)
  }

  const noteEpoch: Cells['noteEpoch'] = async (cellId, epoch) => {
    const row = await read(store, cellId)
    if (row === undefined) throw new ShoalError('not_found', `no cell ${cellId}`)
    if (row.epoch >= epoch) return row.epoch
    const highest = await ledger.write(trx => raiseEpoch(trx, cellId, epoch))
    verifier.forget(cellId)
    return highest
  }

  const revoke: Cells['revoke'] = async (cellId, by) => {
    const cell = await ledger.write(async trx => {
      const row = await trx
        .updateTable('cells')
        .set(({ fn, val }) => ({ revoked_at: fn.coalesce('revoked_at', val(now())) }))
        .where('id', '=', cellId)
        .returningAll()
        .executeTakeFirst()
      if (row === undefined) throw new ShoalError('not_found', `no cell ${cellId}`)
      await bumpRevision(trx, 'cells')
      const entry = { ...by, at: now(), action: 'cell.revoke', subject: cellId }
      await appendAudit(trx, { ...entry, outcome: 'done' })
      return cellOf(row)
    })
    verifier.forget(cellId)
    return cell
  }

  return {
    enrol,
    authenticate,
    noteEpoch,
    revoke,
    get: async cellId => {
      const row = await read(store, cellId)
      return row && cellOf(row)
    },
    list: async () => {
      const query = ledger.read.selectFrom('cells').selectAll().orderBy('enrolled_at').orderBy('id')
      return (await query.execute()).map(cellOf)
    },
    onChange: listener => store.revisions.onChange('cells', listener),
    close: () => void stopWatching(),
  }
}

const live = (cell: Cell | undefined): Cell | undefined =>
  cell?.revokedAt === undefined ? cell : undefined

/** One answer for every bad token, so that nobody learns which ones exist; the log knows more. */
const refused = (logger: CellsOptions['logger'], reason: string, tokenId?: string): ShoalError => {
  logger?.warn({ token: tokenId, reason }, 'an enrolment was refused')
  return new ShoalError('auth_required', 'the join token is not valid')
}

/** Takes a use of the token and adds the cell. Answers why not; that is audited too. */
const admit = async (
  trx: Transaction<LedgerTables>,
  row: CellRow,
  token: string,
  now: number,
): Promise<string | undefined> => {
  const reason = await useToken(trx, row.token_id, token, now)
  // An invented token id leaves no row: anybody could fill the disk with them.
  if (reason === 'unknown') return reason
  const actor = `token:${row.token_id}`
  if (reason !== undefined) {
    const entry = { actor, at: now, action: 'token.use', subject: row.token_id }
    await appendAudit(trx, { ...entry, outcome: 'refused', details: { reason } })
    return reason
  }
  await trx.insertInto('cells').values(row).execute()
  await bumpRevision(trx, 'cells')
  const details = { name: row.name, token: row.token_id }
  await appendAudit(trx, {
    actor,
    at: now,
    action: 'cell.enrol',
    subject: row.id,
    outcome: 'done',
    details,
  })
  return undefined
}

const raiseEpoch = async (
  trx: Transaction<LedgerTables>,
  cellId: string,
  epoch: number,
): Promise<number> => {
  await trx
    .updateTable('cells')
    .set({ epoch })
    .where('id', '=', cellId)
    .where('epoch', '<', epoch)
    .execute()
  const query = trx.selectFrom('cells').select('epoch').where('id', '=', cellId)
  return (await query.executeTakeFirstOrThrow()).epoch
}

const read = ({ ledger }: Store, id: string): Promise<CellRow | undefined> =>
  ledger.read.selectFrom('cells').selectAll().where('id', '=', id).executeTakeFirst()

const load = async (store: Store, id: string) => {
  const row = await read(store, id)
  return row && { value: cellOf(row), digests: [row.digest] }
}

const cellOf = (row: CellRow): Cell => ({
  id: row.id,
  name: row.name,
  tokenId: row.token_id,
  enrolledAt: row.enrolled_at,
  epoch: row.epoch,
  ...(row.revoked_at === null ? {} : { revokedAt: row.revoked_at }),
})
