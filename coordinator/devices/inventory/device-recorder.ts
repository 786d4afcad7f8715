import type { Logger } from 'pino'
import { ShoalError } from '../../../shared/errors.ts'
import type { Announce } from '../../../shared/wire/announce.ts'
import { isGone, isPresent, type Presence } from '../../fleet/cells/presence.ts'
import { readPublishedPresence } from '../../fleet/cells/presence-rows.ts'
import { appendAudit } from '../../kernel/audit/audit.ts'
import type { Events } from '../../kernel/events/bus.ts'
import { afterCommit } from '../../kernel/store/after-commit.ts'
import { bumpRevision } from '../../kernel/store/revisions.ts'
import { nextSequence } from '../../kernel/store/sequences.ts'
import type { Ledger, SealedTrx } from '../../kernel/store/store.ts'
import { createClaimantPresence } from './claimant-presence.ts'
import type { Device } from './device.table.ts'
import type { DeviceClaim } from './device-cell.table.ts'
import {
  deleteEndedClaims,
  deleteExcessGone,
  endClaims,
  isEnrolled,
  putClaims,
  putDevices,
  readCellClaims,
  readClaims,
  readDevices,
  readQuarantined,
} from './device-rows.ts'
import { describeTakeOver, judgeDevice, type TakeOver } from './judge-device.ts'
import { knowsDevices, listChangedClaims, listClaims, suspendClaims } from './list-claims.ts'

interface RecorderParts {
  ledger: Ledger
  events: Pick<Events, 'addWithin'>
  /** Announcement of a cell to this coordinator; undefined before its birth. */
  announced: (cellId: string) => Announce | undefined
  /** Runs after a commit that has changed devices. */
  onChange: () => void
  /** Unix milliseconds. */
  now: () => number
  logger: Pick<Logger, 'warn'>
}

/**
 * What happened to a cell: it has announced itself, its presence has changed, or it is not part of
 * the fleet any more.
 */
type Note = 'birth' | 'presence' | 'removal'

/** Claims of one cell, by device. */
type Claims = ReadonlyMap<string, DeviceClaim>

/** Devices that a cell has dropped and that stay in the store, for their labels. */
const MAX_GONE_PER_CELL = 256

/**
 * Time for which a cell that does not announce a device keeps its place: a daemon that has restarted
 * does not find all of them at once.
 */
const KEEP_PLACE_MS = 600_000

/** Devices are written while the audit is in doubt, as events are. */
const EVEN_FROZEN = { evenFrozen: true }

/**
 * Stores the devices that cells announce, and reports each change once over all coordinators: the
 * sealed lane lets exactly one of them find the difference to what was stored before.
 */
export class DeviceRecorder {
  readonly #parts: RecorderParts
  readonly #notes = new Map<string, Note>()
  #writing: Promise<void> | undefined
  #isFailing = false
  #isClosed = false

  constructor(parts: RecorderParts) {
    this.#parts = parts
  }

  /** Notes what happened to a cell and begins to write it. */
  note(cellId: string, note: Note): void {
    const isWeaker = note === 'presence' && this.#notes.has(cellId)
    if (!isWeaker) this.#notes.set(cellId, note)
    this.retry()
  }

  /** Writes what waits; call it now and then, because the store may have failed. */
  retry(): void {
    if (this.#notes.size > 0 && !this.#isClosed) this.#writing ??= this.#write()
  }

  /** Resolves when everything that was noted is written, or the store has failed. */
  async waitForWrites(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing
  }

  /** Writes what was noted before; later notes are ignored. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#writing
  }

  async #write(): Promise<void> {
    const { ledger, logger } = this.#parts
    for (const [cellId, note] of this.#notes) {
      this.#notes.delete(cellId)
      try {
        await ledger.sealed.write(trx => this.#record(trx, cellId, note), EVEN_FROZEN)
        this.#isFailing = false
      } catch (error) {
        if (!this.#notes.has(cellId)) this.#notes.set(cellId, note)
        if (!this.#isFailing) logger.warn({ err: error }, 'devices wait for the store')
        this.#isFailing = true
        break
      }
    }
    this.#writing = undefined
  }

  async #record(trx: SealedTrx, cellId: string, note: Note): Promise<void> {
    const known = await readCellClaims(trx, cellId)
    const claims = await this.#claimsNow(trx, cellId, { note, known })
    if (claims === undefined) return this.#judge(trx, cellId, [...known.keys()])
    const dropped = [...known.keys()].filter(id => !claims.has(id))
    const now = this.#parts.now()
    await endClaims(trx, cellId, { ids: dropped, now })
    const before = note === 'removal' ? now + 1 : now - KEEP_PLACE_MS
    await deleteEndedClaims(trx, cellId, { before, kept: MAX_GONE_PER_CELL })
    await putClaims(trx, listChangedClaims(known, claims))
    await this.#judge(trx, cellId, [...new Set([...known.keys(), ...claims.keys()])])
    if (dropped.length > 0) await deleteExcessGone(trx, cellId, MAX_GONE_PER_CELL)
  }

  /** Claims of the cell by device; undefined where the stored ones hold. */
  async #claimsNow(
    trx: SealedTrx,
    cellId: string,
    { note, known }: { note: Note; known: Claims },
  ): Promise<Claims | undefined> {
    const { announced, now } = this.#parts
    if (note === 'removal') return (await isEnrolled(trx, cellId)) ? undefined : new Map()
    const announce = note === 'birth' ? announced(cellId) : undefined
    if (announce === undefined) return undefined
    return knowsDevices(announce)
      ? listClaims(cellId, announce, now())
      : suspendClaims(known, announce)
  }

  async #judge(trx: SealedTrx, cellId: string, ids: readonly string[]): Promise<void> {
    const { events, onChange, now } = this.#parts
    if (ids.length === 0) return
    const claims = await readClaims(trx, ids)
    const before = await readDevices(trx, ids)
    const claimants = [...claims.values()].flat().map(claim => claim.cellId)
    const presenceOf = await readPresenceOf(trx, [...new Set([cellId, ...claimants])])
    const judged = ids.map(id =>
      judgeDevice({
        id,
        before: before.get(id),
        claims: claims.get(id) ?? [],
        isConnected: each => isPresent(presenceOf(each)),
        isGone: each => isGone(presenceOf(each)),
        now: now(),
      }),
    )
    const changed = judged.flatMap(({ device }): Device[] => (device === undefined ? [] : [device]))
    if (changed.length === 0) return
    await putDevices(trx, changed, await nextSequence(trx, 'devices'))
    await bumpRevision(trx, 'devices')
    await events.addWithin(
      trx,
      judged.flatMap(one => one.events),
    )
    for (const { takeOver } of judged) if (takeOver) await this.#audit(trx, takeOver)
    afterCommit(trx, onChange)
  }

  /** Records a take-over; a broken audit does not block it, and its event still reports it. */
  async #audit(trx: SealedTrx, takeOver: TakeOver): Promise<void> {
    const { device } = takeOver
    await appendAudit(trx, {
      actor: 'coordinator',
      at: this.#parts.now(),
      action: 'device.take_over',
      subject: device.id,
      outcome: 'done',
      details: { name: device.facts.name, ...describeTakeOver(takeOver) },
    }).catch(error => {
      if (!(error instanceof ShoalError) || error.code !== 'audit_broken') throw error
      this.#parts.logger.warn({ device: device.id, reason: error.message }, 'take-over not audited')
    })
  }
}

const readPresenceOf = async (
  trx: SealedTrx,
  cellIds: readonly string[],
): Promise<(cellId: string) => Presence> => {
  const presence = await readPublishedPresence(trx, cellIds)
  const quarantined = await readQuarantined(trx, cellIds)
  return createClaimantPresence(cellId => presence.get(cellId), quarantined)
}
