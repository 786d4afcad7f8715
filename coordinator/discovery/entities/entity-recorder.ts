import type { Observation } from '../../../discovery/entities/observation.ts'
import type { Pseudonyms } from '../../../discovery/entities/pseudonyms.ts'
import { ShoalError } from '../../../shared/errors.ts'
import type { EventDraft, Events } from '../../kernel/events/bus.ts'
import type { Ledger, SealedTrx } from '../../kernel/store/store.ts'
import type { CellRates } from '../modules/cell-rates.ts'
import type { ModuleObserver } from '../modules/module-observer.ts'
import {
  judgePart,
  noteSeen,
  noteSeenLate,
  readScanner,
  type Scanner,
  scannerOf,
  storePart,
} from '../modules/scanners.ts'
import { addDeltas, DELTA_EVENT, type DeltaDraft, eventOf } from './deltas.ts'
import { markAbsent, refreshEntities } from './entity-rows.ts'
import { readTraces } from './evidence-rows.ts'
import type { FindingsSink, RecordedRows, Recording } from './findings-sink.ts'
import { placeObservations } from './place-observations.ts'
import { type EvidenceBounds, type EvidenceChange, StoredEvidence } from './stored-evidence.ts'

interface RecorderParts {
  ledger: Pick<Ledger, 'sealed'>
  events: Pick<Events, 'addWithin'>
  observer: ModuleObserver
  rates: CellRates
  pseudonyms: Pseudonyms
  metrics: { discovery: { countCut(): void } }
  /** Bounds in place of those of a coordinator. */
  bounds?: EvidenceBounds
  now: () => number
}

/** More evidence belongs to some observations than one transaction may read. */
class EvidenceTooLarge extends Error {}

/** Stores deltas and reports them, with further events, in the transaction of the change. */
export type Publish = (
  trx: SealedTrx,
  drafts: readonly DeltaDraft[],
  alarms?: readonly EventDraft[],
) => Promise<void>

/** What observations changed: deltas of entities, and events of keys that turned out to be shared. */
interface Changes {
  deltas: DeltaDraft[]
  alarms: EventDraft[]
}

/** Observations per transaction, so that none holds the sealed lane for long. */
const AT_ONCE = 256

/**
 * Records what modules found. A part of a run counts as stored with its last observations, so one
 * that was interrupted is recorded again as a whole.
 */
export class EntityRecorder implements FindingsSink {
  readonly #parts: RecorderParts

  constructor(parts: RecorderParts) {
    this.#parts = parts
  }

  async record(found: RecordedRows): Promise<Recording> {
    const { observer, rates, now } = this.#parts
    if (!observer.canObserve(found.module)) return 'new'
    const observations = observer.observe(found, now())
    const holder = found.cellId ?? 'coordinator'
    if (!rates.take(holder, observations.length, now()))
      throw new ShoalError(
        'rate_limited',
        `${holder} reports more sightings than one cell may in a minute; they are stored later`,
        { retryAfterSeconds: 30 },
      )
    let recording: Recording = 'new'
    const part = { ...found, startedAt: Math.min(found.startedAt, now()) }
    for (let at = 0; at === 0 || at < observations.length; at += AT_ONCE) {
      const some = observations.slice(at, at + AT_ONCE)
      const isEnd = at + AT_ONCE >= observations.length
      recording = await this.#recordSome(part, some, isEnd)
    }
    return recording
  }

  /**
   * Records observations in one transaction, or in two when too much evidence belongs to all of
   * them: what one host makes up must not keep others from being recognised.
   */
  async #recordSome(
    found: RecordedRows,
    observations: readonly Observation[],
    isEnd: boolean,
  ): Promise<Recording> {
    const { sealed } = this.#parts.ledger
    try {
      return await sealed.write(trx => this.#recordWithin(trx, found, observations, isEnd))
    } catch (error) {
      if (!(error instanceof EvidenceTooLarge)) throw error
      const half = Math.ceil(observations.length / 2)
      await this.#recordSome(found, observations.slice(0, half), false)
      return this.#recordSome(found, observations.slice(half), isEnd)
    }
  }

  /** Stores deltas and reports them with key alarms, in the transaction of the change. */
  publish: Publish = async (trx, drafts, alarms = []) => {
    const { events, now } = this.#parts
    const deltas = await addDeltas(trx, drafts, now())
    const changes = deltas.length > 0 ? [{ type: DELTA_EVENT, data: eventOf(deltas) }] : []
    await events.addWithin(trx, [...changes, ...alarms])
  }

  /** Nothing changes for a part that is stored; a late one adds evidence and ends no absence. */
  async #recordWithin(
    trx: SealedTrx,
    found: RecordedRows,
    observations: readonly Observation[],
    isEnd: boolean,
  ): Promise<Recording> {
    const scanner = scannerIn(found)
    const known = await readScanner(trx, scanner)
    const recording = judgePart(known, found)
    if (recording === 'stored') return recording
    const runs = known?.runs ?? 0
    const isLate = recording === 'late'
    const { deltas, alarms } = isLate
      ? await this.#observeLate(trx, scanner, observations, runs)
      : await this.#observe(trx, scanner, observations, runs)
    if (isEnd && !isLate) {
      const now = this.#parts.now()
      const missed = await storePart(trx, scanner, known, { ...found, now })
      const traces = await readTraces(trx, missed)
      const ids = traces.flatMap(({ entityId }) => entityId ?? [])
      deltas.push(...(await markAbsent(trx, ids)))
    }
    await this.publish(trx, deltas, alarms)
    return recording
  }

  async #observe(
    trx: SealedTrx,
    scanner: Scanner,
    observations: readonly Observation[],
    runs: number,
  ): Promise<Changes> {
    const { seen, moves, alarms, entitiesOf } = await this.#addEvidence(trx, observations)
    const { present = [], gone = [] } = Object.groupBy(seen, ({ observation }) =>
      observation.sighting.is_gone === true ? 'gone' : 'present',
    )
    const ids = new Set([...entitiesOf(seen), ...listMoved(moves)])
    const touched = { ids, seen: new Set(entitiesOf(present)), moves }
    const deltas = await refreshEntities(trx, touched, this.#parts.now())
    await noteSeen(trx, scanner, { present: idsOf(present), gone: idsOf(gone) }, runs)
    return { deltas: [...deltas, ...(await markAbsent(trx, entitiesOf(gone)))], alarms }
  }

  async #observeLate(
    trx: SealedTrx,
    scanner: Scanner,
    observations: readonly Observation[],
    runs: number,
  ): Promise<Changes> {
    const present = observations.filter(({ sighting }) => sighting.is_gone !== true)
    const { seen, moves, alarms, entitiesOf } = await this.#addEvidence(trx, present)
    const ids = new Set([...entitiesOf(seen), ...listMoved(moves)])
    await noteSeenLate(trx, scanner, idsOf(seen), runs)
    const touched = { ids, seen: new Set<string>(), moves }
    return { deltas: await refreshEntities(trx, touched, this.#parts.now()), alarms }
  }

  async #addEvidence(trx: SealedTrx, observations: readonly Observation[]) {
    const { pseudonyms, bounds, metrics } = this.#parts
    const now = this.#parts.now()
    const evidence = new StoredEvidence(trx, pseudonyms, bounds)
    const placed = await placeObservations(trx, observations)
    const { seen, moves } = await evidence.observe(placed, now)
    if (evidence.isCut) {
      if (observations.length > 1) throw new EvidenceTooLarge()
      metrics.discovery.countCut()
    }
    const alarms = await evidence.save(now)
    const entitiesOf = (some: readonly Seen[]): string[] =>
      some.flatMap(({ traceId }) => evidence.entityOf(traceId) ?? [])
    return { seen, moves, alarms, entitiesOf }
  }
}

type Seen = EvidenceChange['seen'][number]

/** Several rows of a part may see one trace, and PostgreSQL upserts a row once per statement. */
const idsOf = (seen: readonly Seen[]): string[] => [...new Set(seen.map(({ traceId }) => traceId))]

const listMoved = (moves: EvidenceChange['moves']): string[] =>
  moves.flatMap(({ from, to }) => (from === undefined ? [to] : [from, to]))

const scannerIn = ({ cellId, module, inputHash }: RecordedRows): Scanner =>
  scannerOf(cellId, module, inputHash)
