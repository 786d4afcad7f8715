import { randomBytes } from 'node:crypto'
import { PSEUDONYM_SECRET_BYTES, Pseudonyms } from '../../../discovery/entities/pseudonyms.ts'
import type { LookupContext } from '../../../discovery/lookup-run.ts'
import { ALL_MODULES } from '../../../discovery/modules.ts'
import { DAY_MS } from '../../../shared/time.ts'
import type { Base } from '../../kernel/base/base.ts'
import type { Budgets } from '../../kernel/budgets/budgets.ts'
import type { CloudEvent, Events } from '../../kernel/events/bus.ts'
import type { OpenLeader } from '../../kernel/leader/open.ts'
import type { Secrets } from '../../kernel/secrets/secrets.ts'
import type { Store } from '../../kernel/store/store.ts'
import { CellRates } from '../modules/cell-rates.ts'
import { ModuleObserver } from '../modules/module-observer.ts'
import { ModuleResults } from '../modules/module-results.ts'
import { DELTA_EVENT } from './deltas.ts'
import { EntityAdmin } from './entity-admin.ts'
import { EntityQuery } from './entity-query.ts'
import { EntityRecorder } from './entity-recorder.ts'
import { type EntityLimits, tidyEntities } from './entity-upkeep.ts'
import { type ExportRequest, exportEntities } from './export-entities.ts'
import type { FindingsSink } from './findings-sink.ts'
import { searchEntities } from './search-entities.ts'

interface EntityParts
  extends Pick<Base, 'now' | 'logger' | 'runtime'>,
    Pick<OpenLeader, 'leaderWork'> {
  store: Pick<Store, 'ledger' | 'records'>
  events: Pick<Events, 'addWithin' | 'reload' | 'subscribe'>
  secrets: Pick<Secrets, 'ensure'>
  budgets: Pick<Budgets, 'heldAnswers'>
  metrics: { discovery: { countCut(): void; countExcess(entities: number): void } }
}

export interface EntityViews {
  entityQuery: Pick<
    EntityQuery,
    | 'page'
    | 'find'
    | 'deltas'
    | 'countDeltas'
    | 'countBy'
    | 'countByHour'
    | 'listKeyAlarms'
    | 'listScanners'
  >
  exportEntities: (request: ExportRequest) => AsyncGenerator<string>
  entityAdmin: Pick<EntityAdmin, 'merge' | 'split' | 'unpin' | 'setValues' | 'erase' | 'listPins'>
}

interface OpenEntities {
  findingsSink: FindingsSink
  pseudonyms: Pseudonyms
  searchEntities: LookupContext['searchEntities']
  views: EntityViews
}

const LIMITS: EntityLimits = {
  maxEntities: 200_000,
  keepTracesMs: 30 * DAY_MS,
  keepDeltasMs: 90 * DAY_MS,
  maxDeltas: 1_000_000,
}
/** Sightings of one cell per minute. */
const SIGHTINGS_PER_MINUTE = 20_000
const TIDY_SECONDS = 300
/** Most parts that are deleted at once; the next turn goes on. */
const MAX_PARTS = 400

/** Entities that modules found, with their history. */
export const openEntities = async ({
  store: { ledger, records },
  events,
  secrets,
  budgets,
  leaderWork,
  metrics,
  now,
  logger,
  runtime,
}: EntityParts): Promise<OpenEntities> => {
  const pseudonyms = await openPseudonyms(secrets)
  const observer = new ModuleObserver(ALL_MODULES, pseudonyms)
  const rates = new CellRates(SIGHTINGS_PER_MINUTE)
  const recorder = new EntityRecorder({
    ...{ ledger, events, observer, rates, pseudonyms, metrics, now },
  })
  const { publish } = recorder
  const entityAdmin = new EntityAdmin({
    ledger,
    records,
    results: new ModuleResults(records),
    observer,
    events,
    publish,
    pseudonyms,
    logger,
    now,
  })
  events.subscribe(DELTA_EVENT, event => reloadAfterErasure(events, event))
  leaderWork.every('discovery.tidy', TIDY_SECONDS, async () => {
    const removed = new Map<string, number>()
    for (let part = 0; part < MAX_PARTS; part++) {
      const { isDone, excess } = await tidyEntities(ledger, { publish, limits: LIMITS, now: now() })
      if (isDone) break
      if (excess === undefined) continue
      removed.set(excess.holder, (removed.get(excess.holder) ?? 0) + excess.entities)
      metrics.discovery.countExcess(excess.entities)
    }
    for (const [cell, entities] of removed)
      logger.warn({ cell, entities }, 'too many entities; those of one cell were removed')
  })
  const entityQuery = new EntityQuery(ledger.read, now, logger)
  return {
    findingsSink: recorder,
    pseudonyms,
    searchEntities: (query, limit) => searchEntities(entityQuery, query, limit),
    views: {
      entityQuery,
      entityAdmin,
      exportEntities: request => exportEntities({ entityQuery, budgets, now, runtime }, request),
    },
  }
}

/** Events in memory are read again when any coordinator has erased an entity from the stored ones. */
const reloadAfterErasure = (events: Pick<Events, 'reload'>, { data }: CloudEvent): void => {
  const { deltas = [] } = data as { deltas?: readonly { kind: string }[] }
  if (deltas.some(({ kind }) => kind === 'erased')) void events.reload()
}

/** The secret is made once for a store and kept with its other secrets. */
const openPseudonyms = async (secrets: Pick<Secrets, 'ensure'>): Promise<Pseudonyms> => {
  const create = () => randomBytes(PSEUDONYM_SECRET_BYTES).toString('base64')
  return new Pseudonyms(Buffer.from(await secrets.ensure('discovery', create), 'base64'))
}
