import type { Pseudonyms } from '../../../discovery/entities/pseudonyms.ts'
import type { LookupContext } from '../../../discovery/lookup-run.ts'
import { ALL_MODULES } from '../../../discovery/modules.ts'
import type { Upstreams } from '../../../discovery/upstreams/upstreams.ts'
import type { FindingsReceiver } from '../../fleet/broker/receivers.ts'
import type { Fleet } from '../../fleet/cells/fleet.ts'
import type { FleetListeners } from '../../fleet/cells/open.ts'
import type { Base } from '../../kernel/base/base.ts'
import type { Budgets } from '../../kernel/budgets/budgets.ts'
import type { OpenLeader } from '../../kernel/leader/open.ts'
import type { Store } from '../../kernel/store/store.ts'
import { type AutoLookupParts, scheduleLookups } from '../modules/auto-lookups.ts'
import { AutoRunUses } from '../modules/auto-run-uses.ts'
import { Lookups } from '../modules/lookups.ts'
import { ModuleResults } from '../modules/module-results.ts'
import { ModuleRuns } from '../modules/module-runs.ts'
import { FindingsInbox, type FindingsInboxParts } from './findings-inbox.ts'
import type { FindingsSink } from './findings-sink.ts'

/** Views of discovery modules. */
export interface DiscoveryViews {
  moduleRuns: Pick<ModuleRuns, 'run'>
  lookups: Pick<Lookups, 'run'>
  moduleResults: Pick<ModuleResults, 'readLast'>
  autoRunUses: Pick<AutoRunUses, 'summarise'>
}

interface DiscoveryDomainParts
  extends Pick<Base, 'stack' | 'logger' | 'now' | 'nowMs' | 'runtime'>,
    Pick<OpenLeader, 'leaderWork'> {
  config: AutoLookupParts['config']
  store: Pick<Store, 'records'>
  budgets: Pick<Budgets, 'moduleRows' | 'moduleRuns' | 'waitingFindings'>
  fleet: Pick<Fleet, 'cell' | 'cells'>
  fleetListeners: Pick<FleetListeners, 'removals'>
  lookupClient: Pick<Upstreams, 'openLookup'>
  pseudonyms: Pseudonyms
  metrics: FindingsInboxParts['metrics']
  findingsSink?: FindingsSink
  searchEntities?: LookupContext['searchEntities']
}

const FORGET_SECONDS = 3600
/** Time for which a last result is kept. */
const KEEP_MS = 30 * 86_400_000

/** Runs of discovery modules, on cells and here, and their last results. */
export const openDiscovery = (
  parts: DiscoveryDomainParts,
): { findingsReceiver: FindingsReceiver; views: DiscoveryViews } => {
  const { store, fleetListeners, leaderWork, lookupClient, findingsSink: sink, stack } = parts
  const { searchEntities = async () => [], now, logger } = parts
  const results = new ModuleResults(store.records)
  leaderWork.every('discovery.forget', FORGET_SECONDS, () => results.forgetBefore(now() - KEEP_MS))
  const uses = new AutoRunUses(now)
  fleetListeners.removals.add(cellId => {
    uses.forget(cellId)
    results.forgetCell(cellId).catch(error => {
      logger.warn({ cell: cellId, reason: error.message }, 'results of modules not deleted')
    })
  })
  const moduleRuns = new ModuleRuns({ ...parts, results, sink })
  const lookups = new Lookups({ ...parts, searchEntities, client: lookupClient, results, sink })
  scheduleLookups({ ...parts, lookups })
  const inbox = stack.use(
    new FindingsInbox({ ...parts, modules: ALL_MODULES, results, sink, uses }),
  )
  return {
    findingsReceiver: inbox,
    views: { moduleRuns, lookups, moduleResults: results, autoRunUses: uses },
  }
}
