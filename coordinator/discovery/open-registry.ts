import type { LookupContext } from '../../discovery/lookup-run.ts'
import { DISCOVERY_MODULES } from '../../discovery/modules.ts'
import type { Base } from '../base/base.ts'
import type { Events } from '../events/bus.ts'
import type { OpenLeader } from '../leader/open.ts'
import type { Store } from '../store/store.ts'
import type { FindingsSink } from './findings-sink.ts'
import { ModuleObserver } from './module-observer.ts'
import { RegistryAdmin } from './registry-admin.ts'
import { RegistryQuery } from './registry-query.ts'
import { RegistryRecorder } from './registry-recorder.ts'
import { type RegistryLimits, tidyRegistry } from './registry-upkeep.ts'
import { searchEntities } from './search-entities.ts'
import { SightingRates } from './sighting-rates.ts'

interface RegistryParts extends Pick<Base, 'now'>, Pick<OpenLeader, 'leaderWork'> {
  store: Pick<Store, 'ledger'>
  events: Pick<Events, 'addWithin'>
}

interface RegistryViews {
  registry: Pick<
    RegistryQuery,
    'page' | 'find' | 'deltas' | 'countDeltas' | 'countBy' | 'countByHour' | 'listScanners'
  >
  registryAdmin: Pick<
    RegistryAdmin,
    'merge' | 'split' | 'unpin' | 'setValues' | 'erase' | 'listPins'
  >
}

interface OpenRegistry {
  findingsSink: FindingsSink
  searchRegistry: LookupContext['searchRegistry']
  views: RegistryViews
}

const DAY_MS = 86_400_000
const LIMITS: RegistryLimits = {
  maxEntities: 200_000,
  keepTracesMs: 30 * DAY_MS,
  keepDeltasMs: 90 * DAY_MS,
  maxDeltas: 1_000_000,
}
/** Sightings of one cell per minute. */
const SIGHTINGS_PER_MINUTE = 20_000
const TIDY_SECONDS = 300
/** Most parts that are deleted at once; the next turn goes on. */
const MAX_PARTS = 40

/** The registry of things that modules found, with its history. */
export const openRegistry = ({
  store: { ledger },
  events,
  leaderWork,
  now,
}: RegistryParts): OpenRegistry => {
  const observer = new ModuleObserver(DISCOVERY_MODULES)
  const rates = new SightingRates(SIGHTINGS_PER_MINUTE)
  const recorder = new RegistryRecorder({ ledger, events, observer, rates, now })
  const { publish } = recorder
  const registryAdmin = new RegistryAdmin({ ledger, publish, now })
  leaderWork.every('discovery.tidy', TIDY_SECONDS, async () => {
    for (let part = 0; part < MAX_PARTS; part++)
      if (!(await tidyRegistry(ledger, { publish, limits: LIMITS, now: now() }))) return
  })
  const registry = new RegistryQuery(ledger.read, now)
  const searchRegistry: OpenRegistry['searchRegistry'] = (query, limit) =>
    searchEntities(ledger.read, query, limit)
  return { findingsSink: recorder, searchRegistry, views: { registry, registryAdmin } }
}
