import type { Observation } from '../../discovery/registry/observation.ts'
import { ShoalError } from '../../shared/errors.ts'
import type { Events } from '../events/bus.ts'
import type { Ledger, SealedTrx } from '../store/store.ts'
import { addDeltas, DELTA_EVENT, type DeltaDraft, eventOf } from './deltas.ts'
import type { FindingsSink, RecordedRows } from './findings-sink.ts'
import type { ModuleObserver } from './module-observer.ts'
import { placeObservations } from './place-observations.ts'
import { markAbsent, refreshEntities } from './registry-entities.ts'
import { readTraces } from './registry-rows.ts'
import { completeRun, noteSeen, type Scanner, scannerOf } from './scanners.ts'
import type { SightingRates } from './sighting-rates.ts'
import { StoredEvidence } from './stored-evidence.ts'

interface RecorderParts {
  ledger: Pick<Ledger, 'sealed'>
  events: Pick<Events, 'addWithin'>
  observer: ModuleObserver
  rates: SightingRates
  now: () => number
}

/** Observations per transaction, so that none holds the sealed lane for long. */
const AT_ONCE = 256

/** Records what modules found: traces, entities and deltas of a message in one transaction. */
export class RegistryRecorder implements FindingsSink {
  readonly #parts: RecorderParts

  constructor(parts: RecorderParts) {
    this.#parts = parts
  }

  async record(found: RecordedRows): Promise<void> {
    const { ledger, observer, rates, now } = this.#parts
    if (!observer.canObserve(found.module)) return
    const observations = observer.observe(found, now())
    const holder = found.cellId ?? 'coordinator'
    if (!rates.take(holder, observations.length, now()))
      throw new ShoalError(
        'rate_limited',
        `${holder} reports more sightings than one cell may in a minute; they are stored later`,
        { retryAfterSeconds: 30 },
      )
    for (let at = 0; at < observations.length; at += AT_ONCE) {
      const part = observations.slice(at, at + AT_ONCE)
      await ledger.sealed.write(trx => this.#recordWithin(trx, found, part))
    }
    if (found.outcome === 'complete') await ledger.sealed.write(trx => this.#complete(trx, found))
  }

  /** Stores deltas and reports them, in the transaction of the change. */
  publish = async (trx: SealedTrx, drafts: readonly DeltaDraft[]): Promise<void> => {
    const { events, now } = this.#parts
    const deltas = await addDeltas(trx, drafts, now())
    if (deltas.length > 0)
      await events.addWithin(trx, [{ type: DELTA_EVENT, data: eventOf(deltas) }])
  }

  async #recordWithin(
    trx: SealedTrx,
    found: RecordedRows,
    observations: readonly Observation[],
  ): Promise<void> {
    const now = this.#parts.now()
    const evidence = new StoredEvidence(trx)
    const { seen, moves } = await evidence.observe(await placeObservations(trx, observations), now)
    await evidence.save()
    const isGone = ({ observation }: (typeof seen)[number]): boolean =>
      observation.sighting.is_gone === true
    const present = seen.filter(one => !isGone(one)).map(({ traceId }) => traceId)
    const gone = seen.filter(isGone).map(({ traceId }) => traceId)
    const entitiesOf = (ids: readonly string[]): string[] =>
      ids.flatMap(id => evidence.entityOf(id) ?? [])
    const ids = new Set([
      ...entitiesOf([...present, ...gone]),
      ...moves.flatMap(({ from, to }) => (from === undefined ? [to] : [from, to])),
    ])
    const touched = { ids, seen: new Set(entitiesOf(present)), moves }
    const deltas = await refreshEntities(trx, touched, now)
    await noteSeen(trx, scannerIn(found), { present, gone })
    deltas.push(...(await markAbsent(trx, entitiesOf(gone))))
    await this.publish(trx, deltas)
  }

  /** Ends a run: what it has missed once too often is absent. */
  async #complete(trx: SealedTrx, found: RecordedRows): Promise<void> {
    const run = { runId: found.runId, now: this.#parts.now() }
    const traces = await readTraces(trx, await completeRun(trx, scannerIn(found), run))
    const deltas = await markAbsent(
      trx,
      traces.flatMap(({ entityId }) => entityId ?? []),
    )
    await this.publish(trx, deltas)
  }
}

const scannerIn = ({ cellId, module, inputHash }: RecordedRows): Scanner =>
  scannerOf(cellId, module, inputHash)
