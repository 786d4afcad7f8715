import { userInfo } from 'node:os'
import type { PrintableRows } from '../../shared/print.ts'
import type { Actor } from '../audit/audit.ts'
import type { Store } from '../store/store.ts'

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

/** Runs work while no coordinator uses the state folder; throws `conflict` when one does. */
export type RunAlone = <T>(run: () => Promise<T>) => Promise<T>
