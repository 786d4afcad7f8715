import type { Catalogue } from '../../shared/catalogue.ts'
import type { Actor } from '../audit/audit.ts'
import type { Commands } from '../control/commands.ts'
import type { Configs } from '../control/configs.ts'
import type { Fleet } from '../fleet/fleet.ts'
import type { Monitor } from '../fleet/monitor.ts'
import type { Router } from '../fleet/router.ts'
import type { WaitQueue } from '../fleet/wait-queue.ts'
import type { FleetIdentity } from '../fleet-identity.ts'
import type { Declarations } from '../gates/compliance/report.ts'
import type { GateKeeper } from '../gates/gates.ts'
import type { Policy } from '../gates/policy.ts'
import type { CellSettingsStore } from '../keys/cell-settings.ts'
import type { Cells } from '../keys/cells.ts'
import type { Key } from '../keys/key.ts'
import type { Keys } from '../keys/keys.ts'
import type { TierSettings } from '../quota/tiers.ts'
import type { Store } from '../store/store.ts'
import type { Vitals } from '../vitals.ts'
import type { CallStats } from './call-stats.ts'

/** What operations may look at and act on; narrow views of the parts, never the coordinator. */
export interface Views {
  fleet: Pick<Fleet, 'cell' | 'cells' | 'serves'>
  /** Where requests go; `nowMs` is monotonic. */
  routing: {
    router: Pick<Router, 'all'>
    queue: Pick<WaitQueue, 'lengths'>
    nowMs: () => number
  }
  catalogue: Catalogue
  tiers: TierSettings
  /** Resolves when usage that was recorded before can be read. */
  settleUsage: () => Promise<void>
  cells: Pick<Cells, 'list' | 'get' | 'revoke' | 'release'>
  identity: Omit<FleetIdentity, 'greeted'>
  settings: CellSettingsStore
  monitor: Monitor
  commands: Pick<Commands, 'create' | 'get' | 'list'>
  configs: Pick<Configs, 'set' | 'show'>
  keys: Pick<Keys, 'get' | 'list' | 'rotate' | 'retire' | 'revoke' | 'foundTenant'>
  gates: GateKeeper
  policy: Policy
  /** What the operator says of controls that shoal cannot see. */
  declarations: Declarations
  /** Where the coordinator listens, and whether with TLS. */
  listens: { loopbackOnly: boolean; encrypted: boolean }
  /** How long rows of the audit are kept. */
  auditDays: number
  store: Store
  /** Ids of the skills on the agent card, in its order. */
  skillIds: readonly string[]
  /** How operations were called since the start. */
  calls: CallStats
  vitals: Omit<Vitals, 'close'>
  /** Unix time, milliseconds. */
  now: () => number
}

/** One call: the views, and who asks. */
export interface Context extends Views {
  /** Undefined on operations with access `none`. */
  key: Key | undefined
  tenantId: string | undefined
  requestId: string
  /** Who is written into the audit. */
  actor: Actor
  /** Aborts when the time is up or the caller has left. */
  signal: AbortSignal
}
