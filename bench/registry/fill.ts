import { EntityRecorder } from '../../coordinator/discovery/entities/entity-recorder.ts'
import { CellRates } from '../../coordinator/discovery/modules/cell-rates.ts'
import type { Store } from '../../coordinator/kernel/store/store.ts'
import type { Observation } from '../../discovery/entities/observation.ts'
import { PSEUDONYM_SECRET_BYTES, Pseudonyms } from '../../discovery/entities/pseudonyms.ts'
import { DAY_MS } from '../../shared/time.ts'
import { observe, observeChanges, REPORTS } from './things.ts'

/** Records things three days ago and changes of them in the last hours, as findings are recorded. */
export const fillEntities = async (
  { ledger }: Pick<Store, 'ledger'>,
  { things, changes, now }: { things: number; changes: number; now: number },
): Promise<void> => {
  const clock = { now }
  const observations: Observation[] = []
  const recorder = new EntityRecorder({
    ledger,
    events: { addWithin: async () => {} },
    observer: { canObserve: () => true, observe: () => observations } as never,
    rates: new CellRates(Number.MAX_SAFE_INTEGER),
    pseudonyms: new Pseudonyms(Buffer.alloc(PSEUDONYM_SECRET_BYTES)),
    metrics: { discovery: { countCut: () => {} } },
    now: () => clock.now,
  })
  const record = async (all: readonly Observation[], at: number): Promise<void> => {
    for (let first = 0; first < all.length; first += 2048) {
      const part = all.slice(first, first + 2048)
      observations.splice(0, observations.length, ...part)
      clock.now = at + first
      const [{ module, cellId } = { module: '', cellId: undefined }] = part
      await recorder.record({
        module,
        cellId,
        runId: `${module}-${first}`,
        part: 0,
        startedAt: clock.now,
        inputHash: 'h',
        rows: [],
        outcome: undefined,
      })
    }
  }
  const before = now - 3 * DAY_MS
  for (const report of REPORTS) await record(observe(report, things, before), before)
  await record(observeChanges(changes, now - DAY_MS / 2), now - DAY_MS / 2)
}
