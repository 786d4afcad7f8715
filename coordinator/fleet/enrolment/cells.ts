import type { Logger } from 'pino'
import { ShoalError } from '../../../shared/errors.ts'
import { CELL_ID } from '../../../shared/ids.ts'
import { createUnknownError } from '../../../shared/reference-errors.ts'
import { type Runtime, systemRuntime } from '../../../shared/runtime.ts'
import type { EnrolRequest } from '../../../shared/wire/announce.ts'
import {
  digestOf,
  parseSecret,
  randomSecret,
  SECRET,
  TOKEN_PREFIX,
} from '../../access/keys/secret.ts'
import { Verifier } from '../../access/keys/verifier.ts'
import type { Actor } from '../../kernel/audit/audit.ts'
import type { Events } from '../../kernel/events/bus.ts'
import type { Store } from '../../kernel/store/store.ts'
import type { StoredCell } from './cell.table.ts'
import { cellOf, type EnrolledCell } from './cell.ts'
import {
  listCells,
  listLiveNamed,
  raiseEpoch,
  readCell,
  readCredentials,
  readPublicKeys,
} from './cell-rows.ts'
import { type AuditedCellChange, changeCell } from './change-cell.ts'
import { giveCredential, isNext, isPast, promoteCredential } from './credentials.ts'
import { admit, keyFault, newCell } from './enrolment.ts'
import { LiveCells } from './live-cells.ts'
import { EnrolmentRefusals } from './refusals.ts'

export type { EnrolledCell } from './cell.ts'

interface CellsOptions {
  store: Store
  /**
   * Log of cells that cannot be read, and of the reasons for refused enrolments, which requesters do
   * not receive.
   */
  logger?: Pick<Logger, 'warn'>
  /** Reports what happens to cells; nobody hears of what a command on the machine does. */
  addEvents?: Events['addWithin']
  /** Unix time, milliseconds. */
  now?: () => number
  /** Clocks; those of the system for commands. */
  runtime?: Pick<Runtime, 'now' | 'nowMs' | 'ids'>
}

/**
 * Shortest interval between renewals; a cell that renews more often is faulty and costs disk
 * writes.
 */
const RENEW_EVERY_MS = 2000

/** Identities of cells: their credentials, epochs, revocation and quarantine. */
export class Cells {
  readonly #store: Store
  readonly #logger: Pick<Logger, 'warn'> | undefined
  readonly #addEvents: Events['addWithin']
  readonly #now: () => number
  readonly #ids: Runtime['ids']
  readonly #refusals: EnrolmentRefusals
  readonly #verifier: Verifier<StoredCell>
  /** Unix time of the last renewal by cell; guards the disk of this process, so each has its own. */
  readonly #renewedAt = new Map<string, number>()
  /**
   * Cells that authenticated here but have not announced a birth yet. Another coordinator learns
   * that from the birth, and until then it only refuses a superseded credential.
   */
  readonly #used = new Set<string>()
  readonly #live = new LiveCells()
  readonly #stopWatching: () => void

  constructor({
    store,
    logger,
    addEvents = async () => {},
    runtime = systemRuntime,
    now = runtime.now,
  }: CellsOptions) {
    this.#addEvents = addEvents
    this.#store = store
    this.#logger = logger
    this.#now = now
    this.#ids = runtime.ids
    this.#refusals = new EnrolmentRefusals(logger, now)
    this.#verifier = new Verifier({
      load: id => readCredentials(store.ledger.read, id),
      lags: store.revisions.lags,
      nowMs: runtime.nowMs,
      lookAfterPause: store.revisions.lookAfterPause,
      isAway: () => store.ledger.outage() !== undefined || store.revisions.isBehind(),
    })
    this.#stopWatching = store.revisions.onChange('cells', () => {
      this.#verifier.clear()
      this.#live.forgetQuarantines()
    })
  }

  /**
   * Throws `auth_required`, with one message for every invalid token, and `invalid_request` for a
   * key without its proof. Until the cell has connected, the same token and key return a new
   * credential for the same cell.
   */
  async enrol(request: EnrolRequest): Promise<{ cellId: string; credential: string }> {
    const tokenId = parseSecret(TOKEN_PREFIX, request.token)
    if (tokenId === undefined) throw this.#refusals.refuse('malformed')
    const fault = keyFault(request)
    if (fault !== undefined) throw new ShoalError('invalid_request', fault, { param: 'proof' })
    const credential = randomSecret()
    const now = this.#now()
    const id = this.#ids.create('cell', now)
    const digest = digestOf(credential).toString('hex')
    const cell = newCell(request, { id, tokenId, digest, now })
    const isNews = (id: string, reason: string) => this.#refusals.isNews(id, reason)
    const outcome = await this.#store.ledger.sealed.write(trx =>
      admit(trx, { cell, token: request.token, now, isNews, addEvents: this.#addEvents }),
    )
    if ('reason' in outcome) throw this.#refusals.refuse(outcome.reason, tokenId)
    this.#verifier.forget(outcome.cellId)
    this.#used.delete(outcome.cellId)
    return { cellId: outcome.cellId, credential }
  }

  /**
   * Returns the cell with this credential, unless it is revoked. Synchronous when in memory. The
   * first use of a new credential ends the previous one; `bootId` is the start that uses it. Throws
   * `forbidden` for a quarantined cell.
   */
  authenticate(
    cellId: string,
    credential: string,
    bootId?: string,
  ): EnrolledCell | undefined | Promise<EnrolledCell | undefined> {
    if (!CELL_ID.test(cellId)) return undefined
    const found = this.#verifier.verify(cellId, credential)
    if (found instanceof Promise) return found.then(cell => this.#accept(cell, credential, bootId))
    return this.#accept(found, credential, bootId)
  }

  /**
   * True when the credential was superseded by one that another start of the cell has used, which
   * indicates a cloned cell. Throws `forbidden` for a quarantined cell.
   */
  async isReplaced(cellId: string, credential: string, bootId: string): Promise<boolean> {
    if (!CELL_ID.test(cellId) || !SECRET.test(credential)) return false
    const { read } = this.#store.ledger
    if (!(await isPast(read, cellId, credential, bootId))) return false
    const cell = this.#requireLive(await readCell(read, cellId))
    return cell !== undefined && (cell.epoch > 0 || this.#used.has(cellId))
  }

  /** Adds a second credential. Throws `rate_limited` within two seconds of the last renewal. */
  async renew(cellId: string): Promise<string> {
    const at = this.#now()
    const waitMs = (this.#renewedAt.get(cellId) ?? Number.NEGATIVE_INFINITY) + RENEW_EVERY_MS - at
    if (waitMs > 0)
      throw new ShoalError('rate_limited', `${cellId} has just got a new credential`, {
        retryAfterSeconds: Math.ceil(waitMs / 1000),
      })
    this.#renewedAt.set(cellId, at)
    const credential = await this.#store.ledger.sealed.write(trx => giveCredential(trx, cellId))
    this.#verifier.forget(cellId)
    return credential
  }

  /**
   * Records a boot epoch and returns the highest one of the cell. A result above `epoch` means that
   * the message predates a restart. Throws `not_found`.
   */
  async noteEpoch(cellId: string, epoch: number): Promise<number> {
    const { ledger } = this.#store
    const cell = await readCell(ledger.read, cellId)
    if (cell === undefined) throw createUnknownError('cell', cellId)
    if (cell.epoch >= epoch) return cell.epoch
    const highest = await ledger.free.write(trx => raiseEpoch(trx, cellId, epoch))
    this.#verifier.forget(cellId)
    this.#used.delete(cellId)
    return highest
  }

  /** Takes effect in this process when it resolves, and within a second in others. */
  revoke(cellId: string, by: Actor): Promise<EnrolledCell> {
    return this.#end(cellId, { ...by, action: 'cell.revoke' }, 'revoked')
  }

  /** Revokes a cell on its own request. */
  leave(cellId: string): Promise<EnrolledCell> {
    return this.#end(cellId, { actor: `cell:${cellId}`, action: 'cell.leave' }, 'left')
  }

  /** Refuses every connection as this cell until it is released. The details are audited. */
  quarantine(cellId: string, reason: string, more?: object): Promise<EnrolledCell> {
    const details = { reason, ...more }
    const entry = { actor: 'coordinator', action: 'cell.quarantine', details }
    return this.#change(cellId, entry, ({ quarantinedAt }) => ({
      fields: { quarantinedAt: quarantinedAt ?? this.#now() },
      event: quarantinedAt === undefined && { type: 'quarantined', data: details },
    }))
  }

  /**
   * Ends a quarantine and resets the epoch. Throws `conflict` for a cell that is not in quarantine,
   * unless it `isSetBack`: it has shown an older epoch than before.
   */
  release(cellId: string, by: Actor, isSetBack = false): Promise<EnrolledCell> {
    return this.#change(cellId, { ...by, action: 'cell.release' }, ({ quarantinedAt }) => {
      if (quarantinedAt === undefined && !isSetBack)
        throw new ShoalError('conflict', `${cellId} is not in quarantine`)
      return {
        fields: { quarantinedAt: undefined, epoch: 0 },
        event: { type: 'released', data: {} },
      }
    })
  }

  async get(cellId: string): Promise<EnrolledCell | undefined> {
    const cell = await readCell(this.#store.ledger.read, cellId)
    return cell && cellOf(cell)
  }

  /** Reads the keys with which these cells sign, by cell. */
  readPublicKeys(ids: readonly string[]): Promise<Map<string, string>> {
    return readPublicKeys(this.#store.ledger.read, ids)
  }

  /** Lists the cells, oldest first. */
  async list(): Promise<EnrolledCell[]> {
    return (await listCells(this.#store.ledger.read, this.#logger)).map(cellOf)
  }

  /** Lists the cells that were enrolled with one of these names and are not revoked. */
  listNamed(names: readonly string[]): Promise<Pick<EnrolledCell, 'id' | 'name'>[]> {
    return listLiveNamed(this.#store.ledger.read, names)
  }

  /** Reports that another process changed a cell, after which live connections must be checked. */
  onChange(listener: () => void): () => void {
    return this.#store.revisions.onChange('cells', listener)
  }

  close(): void {
    this.#stopWatching()
  }

  /** Returns the cell; undefined for a revoked one. Throws `forbidden` for a quarantined one. */
  #requireLive(stored: StoredCell | undefined): EnrolledCell | undefined {
    const cell = this.#live.require(stored)
    return cell && cellOf(cell)
  }

  #accept(
    stored: StoredCell | undefined,
    credential: string,
    bootId: string | undefined,
  ): EnrolledCell | undefined | Promise<EnrolledCell | undefined> {
    const cell = this.#requireLive(stored)
    if (stored === undefined || cell === undefined) return cell
    if (cell.epoch === 0) this.#used.add(cell.id)
    if (!isNext(stored, credential)) return cell
    return this.#settle(stored, bootId).then(() => this.#requireLive(stored))
  }

  /** A store that cannot write now does not lock the cell out: both credentials stay valid. */
  async #settle(
    { id, nextDigest: digest = '' }: StoredCell,
    bootId: string | undefined,
  ): Promise<void> {
    try {
      const now = this.#now()
      await this.#store.ledger.sealed.write(trx => promoteCredential(trx, id, digest, now, bootId))
      this.#verifier.forget(id)
    } catch (error) {
      this.#logger?.warn({ err: error, cell: id }, 'a new credential could not be settled')
    }
  }

  #end(cellId: string, entry: Actor & { action: string }, type: string): Promise<EnrolledCell> {
    return this.#change(cellId, entry, ({ revokedAt }) => ({
      fields: { revokedAt: revokedAt ?? this.#now() },
      event: revokedAt === undefined && { type, data: {} },
    }))
  }

  async #change(
    cellId: string,
    entry: AuditedCellChange['entry'],
    change: AuditedCellChange['change'],
  ): Promise<EnrolledCell> {
    const { ledger } = this.#store
    const parts = { ledger, addEvents: this.#addEvents, now: this.#now }
    const cell = await changeCell(parts, cellId, { entry, change })
    this.#live.note(cell)
    this.#verifier.forget(cellId)
    return cellOf(cell)
  }
}
