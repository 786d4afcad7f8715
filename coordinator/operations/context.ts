import type { Actor } from '../audit/audit.ts'
import type { Fleet } from '../fleet/fleet.ts'
import type { Cells } from '../keys/cells.ts'
import type { Key } from '../keys/key.ts'
import type { Store } from '../store/store.ts'

/** What operations may look at and act on; narrow views of the parts, never the coordinator. */
export interface Views {
  fleet: Pick<Fleet, 'cell' | 'cells'>
  cells: Pick<Cells, 'list' | 'get' | 'revoke'>
  store: Store
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
