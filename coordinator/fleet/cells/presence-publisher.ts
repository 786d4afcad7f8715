import type { Logger } from 'pino'
import { type Runtime, sleep } from '../../../shared/runtime.ts'
import { type ChangeFollower, followChanges } from '../../kernel/base/follow-changes.ts'
import type { Events } from '../../kernel/events/bus.ts'
import type { Replicas } from '../../kernel/replicas/replicas.ts'
import type { Ledger, SealedTrx } from '../../kernel/store/store.ts'
import type { Cell } from './cell.ts'
import { combinePresence } from './combined-presence.ts'
import type { Presence } from './presence.ts'
import {
  deletePresence,
  listUnseen,
  putPublishedPresence,
  putViews,
  readPublishedPresence,
  readViews,
} from './presence-rows.ts'
import { UnseenCells } from './unseen-cells.ts'

interface PresenceTellerParts {
  ledger: Ledger
  replicas: Pick<Replicas, 'id' | 'live' | 'onChange'>
  events: Pick<Events, 'addWithin'>
  cells: () => Iterable<Pick<Cell, 'id' | 'presence'>>
  logger: Pick<Logger, 'warn'>
  /** Unix time, milliseconds. */
  now: () => number
  /** Monotonic milliseconds. */
  nowMs: () => number
  runtime: Pick<Runtime, 'setTimeout'>
}

/**
 * State of a cell to be written: its presence as this coordinator sees it, `gone` once it is not
 * enrolled any more, `unseen` when no coordinator has seen it for long, `same` to judge it again.
 */
type Note = Exclude<Presence, 'unknown'> | 'gone' | 'unseen' | 'same'

/** Cells per transaction, so that none holds the sealed lane for long. */
const BATCH = 64
const RETRY_MS = 1000
/** Presence is written while the audit is in doubt, as events are. */
const EVEN_FROZEN = { evenFrozen: true }

/**
 * Reports each change of a cell's presence once over all coordinators. Each of them stores how it
 * sees a cell; in the same transaction it compares what all live ones see with what was reported
 * last. The sealed lane lets exactly one of them find the difference.
 */
export class PresencePublisher {
  readonly #parts: PresenceTellerParts
  readonly #notes = new Map<string, Note>()
  readonly #closing = new AbortController()
  readonly #changes: ChangeFollower
  readonly #unseen: UnseenCells
  #writing: Promise<void> | undefined
  #isFailing = false

  constructor(parts: PresenceTellerParts) {
    this.#parts = parts
    this.#unseen = new UnseenCells(parts.nowMs)
    this.#changes = followChanges({
      subscribe: listener => parts.replicas.onChange(listener),
      read: () => this.#compare(),
      onFailure: error =>
        parts.logger.warn({ err: error }, 'the presence of cells was not compared'),
      runtime: parts.runtime,
    })
  }

  /** Notes how this coordinator sees a cell now. */
  note(cellId: string, presence: Presence): void {
    if (presence !== 'unknown') this.#put(cellId, presence)
  }

  forget(cellId: string): void {
    this.#put(cellId, 'gone')
  }

  /** Judges the cells again that look different since other coordinators are live. Never rejects. */
  reconcile(): Promise<void> {
    return this.#changes.look()
  }

  /** Reports cells that none has seen for long, and deletes what former coordinators saw. */
  async sweep(ledger: Ledger): Promise<void> {
    const liveIds = this.#liveIds()
    await ledger.free.write(trx =>
      trx
        .deleteFrom('cell_views')
        .where('replica_id', 'not in', liveIds)
        .where('replica_id', 'not in', row => row.selectFrom('replicas').select('id'))
        .execute(),
    )
    for (const cellId of this.#unseen.note(await listUnseen(ledger.read, liveIds)))
      if (!this.#notes.has(cellId)) this.#put(cellId, 'unseen')
  }

  /** Resolves when everything that was noted is written. */
  async waitForWrites(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing
  }

  /** Writes what was noted before, unless the store fails; later notes are ignored. */
  async close(): Promise<void> {
    await this.#changes.close()
    this.#closing.abort()
    await this.#writing
  }

  async #compare(): Promise<void> {
    const { ledger, replicas, cells } = this.#parts
    const views = await readViews(ledger.read, this.#liveIds())
    const told = await readPublishedPresence(ledger.read)
    for (const [cellId, rows] of views)
      if (combinePresence(presencesOf(rows)) !== told.get(cellId)) this.#judge(cellId)
    for (const { id, presence } of cells()) {
      const own = views.get(id)?.find(view => view.replicaId === replicas.id)
      if (own?.presence !== presence) this.note(id, presence)
    }
  }

  #judge(cellId: string): void {
    if (!this.#notes.has(cellId)) this.#put(cellId, 'same')
  }

  #put(cellId: string, note: Note): void {
    if (this.#closing.signal.aborted) return
    this.#notes.set(cellId, note)
    this.#writing ??= this.#write()
  }

  async #write(): Promise<void> {
    const { ledger, logger } = this.#parts
    while (this.#notes.size > 0) {
      let batch: [string, Note][] = []
      try {
        await ledger.sealed.write(trx => {
          batch = this.#takeNotes()
          return this.#tell(trx, batch)
        }, EVEN_FROZEN)
        this.#isFailing = false
      } catch (error) {
        for (const [cellId, note] of batch)
          if (!this.#notes.has(cellId)) this.#notes.set(cellId, note)
        if (!this.#isFailing)
          logger.warn({ err: error }, 'the presence of cells waits for the store')
        this.#isFailing = true
        if (this.#closing.signal.aborted) break
        const { signal } = this.#closing
        await sleep(this.#parts.runtime, RETRY_MS, { signal, ref: false }).catch(() => {})
      }
    }
    this.#writing = undefined
  }

  #takeNotes(): [string, Note][] {
    const taken: [string, Note][] = []
    for (const note of this.#notes) {
      if (taken.length === BATCH) break
      taken.push(note)
      this.#notes.delete(note[0])
    }
    return taken
  }

  async #tell(trx: SealedTrx, batch: readonly [string, Note][]): Promise<void> {
    const { replicas, events, now } = this.#parts
    await deletePresence(trx, idsOf(batch, 'gone'), replicas.id)
    await putViews(trx, viewsOf(batch, replicas.id))
    const cellIds = batch.filter(([, note]) => note !== 'gone').map(([cellId]) => cellId)
    if (cellIds.length === 0) return
    const views = await readViews(trx, this.#liveIds(), cellIds)
    const told = await readPublishedPresence(trx, cellIds)
    const unseen = new Set(idsOf(batch, 'unseen'))
    const changes = cellIds.flatMap(cellId => {
      const from = told.get(cellId) ?? 'unknown'
      const seen = combinePresence(presencesOf(views.get(cellId) ?? []))
      const presence = seen ?? (unseen.has(cellId) ? 'dead' : from)
      return presence === from ? [] : [{ cellId, from, presence }]
    })
    await putPublishedPresence(trx, changes, now())
    await events.addWithin(
      trx,
      changes.map(({ cellId, from, presence }) => ({
        type: `shoal.cell.${presence}`,
        data: { from },
        subject: cellId,
      })),
    )
  }

  /** Ids of the live coordinators; the own view counts whatever they say. */
  #liveIds(): string[] {
    const { replicas } = this.#parts
    return [...new Set([replicas.id, ...replicas.live().map(({ id }) => id)])]
  }
}

const presencesOf = (rows: readonly { presence: Presence }[]): Presence[] =>
  rows.map(({ presence }) => presence)

const idsOf = (batch: readonly [string, Note][], wanted: Note): string[] =>
  batch.filter(([, note]) => note === wanted).map(([cellId]) => cellId)

const viewsOf = (batch: readonly [string, Note][], replicaId: string) =>
  batch.flatMap(([cellId, presence]) =>
    presence === 'gone' || presence === 'unseen' || presence === 'same'
      ? []
      : [{ cellId, replicaId, presence }],
  )
