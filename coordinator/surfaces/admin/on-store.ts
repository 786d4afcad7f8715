import { userInfo } from 'node:os'
import type { PrintableRows } from '../../../shared/print.ts'
import { systemRuntime } from '../../../shared/runtime.ts'
import { Keys } from '../../access/keys/keys.ts'
import type { Actor } from '../../kernel/audit/audit.ts'
import { StoreClock } from '../../kernel/store/clock.ts'
import type { Store } from '../../kernel/store/store.ts'

/**
 * Runs a command on the store and prints its answer; a missing store is created only with `make`.
 */
export type OnStore = (
  run: (store: Store, by: Actor) => Promise<PrintableRows>,
  make?: boolean,
) => Promise<void>

/** Audit name of a user who runs a program on the coordinator's machine. */
export const localActor = (): Actor => ({ actor: `local:${userInfo().username}` })

/** A silent logger: the output of a command is its answer alone. */
export const silentLogger = { info: () => {}, warn: () => {} }

/** The clock of a store, which the clock of this machine may differ from. */
export const openClock = async ({ ledger }: Store): Promise<() => number> =>
  (await StoreClock.open({ ledger, nowMs: systemRuntime.nowMs })).now

/** The keys of a store, for one command. */
export const openKeys = async (store: Store): Promise<Keys> =>
  new Keys({ store, logger: silentLogger, now: await openClock(store) })

/** Runs work while no coordinator uses the state folder; throws `conflict` when one does. */
export type RunAlone = <T>(run: () => Promise<T>) => Promise<T>
