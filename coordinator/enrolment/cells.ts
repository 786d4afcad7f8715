import type { Transaction } from 'kysely'
import type { Logger } from 'pino'
import { ShoalError } from '../../shared/errors.ts'
import { CELL_ID } from '../../shared/ids.ts'
import type { EnrolRequest } from '../../shared/wire/announce.ts'
import { type Actor, appendAudit } from '../audit/audit.ts'
import { digestOf, parseSecret, randomSecret, SECRET, TOKEN_PREFIX } from '../keys/secret.ts'
import { Verifier } from '../keys/verifier.ts'
import type { CellRow } from '../store/cell-tables.ts'
import { bumpRevision } from '../store/revisions.ts'
import type { SealedTrx, Store } from '../store/store.ts'
import type { LedgerTables } from '../store/tables.ts'
import { type Cell, cellOf } from './cell.ts'
import { giveCredential, isNext, isPast, settleCredential } from './credentials.ts'
import { admit, keyFault, newCellRow } from './enrolment.ts'

export type { Cell } from './cell.ts'

export interface Cells {
  /**
   * Throws `auth_required` for any token that is not good, always in the same words, and
   * `invalid_request` for a key without its proof. The same token and key again are a new
   * credential for the same cell, until it has come for the first time.
   */
  enrol(request: EnrolRequest): Promise<{ cellId: string; credential: string }>
  /**
   * The cell whose credential this is, unless it was revoked. Synchronous when in memory. The first
   * use of a new credential ends the one before. Throws `forbidden` for a cell in quarantine.
   */
  authenticate(cellId: string, credential: string): Cell | undefined | Promise<Cell | undefined>
  /**
   * Whether the cell had this credential before, and has used another one since: then somebody has
   * a copy of what it was. Throws `forbidden` when such a cell is in quarantine already.
   */
  isReplaced(cellId: string, credential: string): Promise<boolean>
  /** A new credential beside the one in use. Throws `rate_limited` when asked too often. */
  renew(cellId: string): Promise<string>
  /**
   * The highest boot epoch of the cell, after this one was seen. More than `epoch` means that the
   * message is from before a restart. Throws `not_found`.
   */
  noteEpoch(cellId: string, epoch: number): Promise<number>
  /** Effective when it resolves here, and within a second in other processes. */
  revoke(cellId: string, by: Actor): Promise<Cell>
  /** The cell ends itself. */
  leave(cellId: string): Promise<Cell>
  /** Nobody may connect as this cell any more, until it is released. The details are audited. */
  quarantine(cellId: string, reason: string, details?: object): Promise<Cell>
  /**
   * Its epoch begins anew. Throws `conflict` for a cell that is not in quarantine, unless it
   * `isSetBack`: it has come with an older epoch than before.
   */
  release(cellId: string, by: Actor, isSetBack?: boolean): Promise<Cell>
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

/** A cell that renews more often than this is out of order, and costs the disk. */
const RENEW_EVERY_MS = 2000
/** Who knows the id of a token could else fill the audit, which is kept for good. */
const AUDIT_REFUSAL_EVERY_MS = 3600 * 1000

export const createCells = ({ store, logger, now = Date.now }: CellsOptions): Cells => {
  const { ledger } = store
  const verifier = new Verifier<CellRow>({ load: id => load(store, id) })
  const renewals = new Map<string, number>()
  /** Those that have come with their credential, but with no birth yet. */
  const used = new Set<string>()
  /** Ended and held in this process: also for a look into the store that had begun before. */
  const ended = new Set<string>()
  const held = new Set<string>()
  const stopWatching = store.revisions.onChange('cells', () => {
    verifier.clear()
    held.clear()
  })

  /** When a refusal was audited last. Only tokens that exist come here. */
  const audited = new Map<string, number>()
  const isNews = (tokenId: string, reason: string): boolean => {
    const key = `${tokenId} ${reason}`
    const at = now()
    if (at < (audited.get(key) ?? Number.NEGATIVE_INFINITY) + AUDIT_REFUSAL_EVERY_MS) return false
    audited.set(key, at)
    return true
  }

  const enrol: Cells['enrol'] = async request => {
    const tokenId = parseSecret(TOKEN_PREFIX, request.token)
    if (tokenId === undefined) throw refused(logger, 'malformed')
    const fault = keyFault(request)
    if (fault !== undefined) throw new ShoalError('invalid_request', fault, { param: 'proof' })
    const credential = randomSecret()
    const row = newCellRow(request, tokenId, digestOf(credential).toString('hex'), now())
    const asked = { row, token: request.token, now: now(), isNews }
    const outcome = await ledger.sealed.write(trx => admit(trx, asked))
    if ('reason' in outcome) throw refused(logger, outcome.reason, tokenId)
    verifier.forget(outcome.cellId)
    used.delete(outcome.cellId)
    return { cellId: outcome.cellId, credential }
  }

  const live = (row: CellRow | undefined): Cell | undefined => {
    if (row === undefined || row.revoked_at !== null || ended.has(row.id)) return undefined
    if (row.quarantined_at !== null || held.has(row.id)) throw quarantined(row.id)
    return cellOf(row)
  }

  /** A store that cannot write now does not keep the cell out: both credentials stay good. */
  const settle = async (row: CellRow): Promise<void> => {
    const digest = row.next_digest ?? ''
    try {
      await ledger.sealed.write(trx => settleCredential(trx, row.id, digest, now()))
      verifier.forget(row.id)
    } catch (error) {
      logger?.warn({ err: error, cell: row.id }, 'a new credential could not be settled')
    }
  }

  const accept = (row: CellRow | undefined, credential: string) => {
    const cell = live(row)
    if (row === undefined || cell === undefined) return cell
    if (row.epoch === 0) used.add(row.id)
    if (!isNext(row, credential)) return cell
    return settle(row).then(() => live(row))
  }

  const authenticate: Cells['authenticate'] = (cellId, credential) => {
    if (!CELL_ID.test(cellId)) return undefined
    const found = verifier.verify(cellId, credential)
    if (found instanceof Promise) return found.then(row => accept(row, credential))
    return accept(found, credential)
  }

  const isReplaced: Cells['isReplaced'] = async (cellId, credential) => {
    if (!CELL_ID.test(cellId) || !SECRET.test(credential)) return false
    if (!(await isPast(ledger.read, cellId, credential))) return false
    const cell = live(await read(store, cellId))
    return cell !== undefined && (cell.epoch > 0 || used.has(cellId))
  }

  const renew: Cells['renew'] = async cellId => {
    const at = now()
    const waitMs = (renewals.get(cellId) ?? Number.NEGATIVE_INFINITY) + RENEW_EVERY_MS - at
    if (waitMs > 0)
      throw new ShoalError('rate_limited', `${cellId} has just got a new credential`, {
        retryAfterSeconds: Math.ceil(waitMs / 1000),
      })
    renewals.set(cellId, at)
    const credential = await ledger.free.write(trx => giveCredential(trx, cellId))
    verifier.forget(cellId)
    return credential
  }

  const noteEpoch: Cells['noteEpoch'] = async (cellId, epoch) => {
    const row = await read(store, cellId)
    if (row === undefined) throw new ShoalError('not_found', `no cell ${cellId}`)
    if (row.epoch >= epoch) return row.epoch
    const highest = await ledger.free.write(trx => raiseEpoch(trx, cellId, epoch))
    verifier.forget(cellId)
    used.delete(cellId)
    return highest
  }

  /** One audited change of one cell. */
  const change = async (
    cellId: string,
    entry: Actor & { action: string; details?: Record<string, unknown> },
    values: (row: CellRow) => Partial<CellRow>,
  ): Promise<Cell> => {
    const row = await ledger.sealed.write(async trx => {
      const before = await existing(trx, cellId)
      const after = { ...before, ...values(before) }
      await trx.updateTable('cells').set(values(before)).where('id', '=', cellId).execute()
      await bumpRevision(trx, 'cells')
      await appendAudit(trx, { ...entry, at: now(), subject: cellId, outcome: 'done' })
      return after
    })
    if (row.revoked_at !== null) ended.add(cellId)
    if (row.quarantined_at !== null) held.add(cellId)
    else held.delete(cellId)
    verifier.forget(cellId)
    return cellOf(row)
  }

  const end = (cellId: string, entry: Actor & { action: string }) =>
    change(cellId, entry, row => ({ revoked_at: row.revoked_at ?? now() }))

  return {
    enrol,
    authenticate,
    isReplaced,
    renew,
    noteEpoch,
    revoke: (cellId, by) => end(cellId, { ...by, action: 'cell.revoke' }),
    leave: cellId => end(cellId, { actor: `cell:${cellId}`, action: 'cell.leave' }),
    quarantine: (cellId, reason, more) => {
      const details = { reason, ...more }
      const entry = { actor: 'coordinator', action: 'cell.quarantine', details }
      return change(cellId, entry, row => ({ quarantined_at: row.quarantined_at ?? now() }))
    },
    release: (cellId, by, isSetBack = false) =>
      change(cellId, { ...by, action: 'cell.release' }, row => {
        if (row.quarantined_at === null && !isSetBack)
          throw new ShoalError('conflict', `${cellId} is not in quarantine`)
        return { quarantined_at: null, epoch: 0 }
      }),
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

/** What a cell is told that shares its identity with another machine, and so its operator. */
export const quarantined = (cellId: string): ShoalError =>
  new ShoalError(
    'forbidden',
    `${cellId} is in quarantine: two machines use its identity; stop the copy, then release it`,
  )

/** One answer for every bad token, so that nobody learns which ones exist; the log knows more. */
const refused = (logger: CellsOptions['logger'], reason: string, tokenId?: string): ShoalError => {
  logger?.warn({ token: tokenId, reason }, 'an enrolment was refused')
  return new ShoalError('auth_required', 'the join token is not valid')
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

const existing = async (trx: SealedTrx, cellId: string): Promise<CellRow> => {
  const query = trx.selectFrom('cells').selectAll().where('id', '=', cellId)
  const row = await query.executeTakeFirst()
  if (row === undefined) throw new ShoalError('not_found', `no cell ${cellId}`)
  return row
}

const read = ({ ledger }: Store, id: string): Promise<CellRow | undefined> =>
  ledger.read.selectFrom('cells').selectAll().where('id', '=', id).executeTakeFirst()

const load = async (store: Store, id: string) => {
  const row = await read(store, id)
  if (row === undefined) return []
  return [row.digest, row.next_digest]
    .filter(digest => digest !== null)
    .map(digest => ({ value: row, digest }))
}
