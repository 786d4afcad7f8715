import type { Base } from '../base/base.ts'
import { withChangeHook } from './change-hook.ts'
import { StoreClock } from './clock.ts'
import { type StoreConfig, storePlaceOf } from './place.ts'
import { probeStore, type StoreProbe } from './probe.ts'
import { openStore, type Store, type StoreHooks, type StoreOptions } from './store.ts'

/** Parts that watch the store, for the metrics. */
interface StoreWatchers extends Required<Pick<StoreOptions, 'observers'>> {
  hooks: Required<StoreHooks>
  onOutage: NonNullable<StoreOptions['onOutage']>
}

export interface StoreParts
  extends Pick<Base, 'stack' | 'schedules' | 'logger' | 'now' | 'nowMs' | 'runtime'> {
  config: StoreConfig
  metrics: { store: StoreWatchers }
  /** Hooks around every change of the ledger, inside the measurement. */
  changeHooks: NonNullable<StoreHooks['ledger']>
}

const SYNC_SECONDS = 2

/**
 * The store, measured, a probe that tells whether it can be relied on, and the clock by which all
 * parts after it live.
 */
export const openStorePart = async (
  parts: StoreParts,
): Promise<{ store: Store; probe: StoreProbe; now: () => number }> => {
  const { config, metrics, changeHooks, stack, logger, runtime } = parts
  const { ledger, records } = metrics.store.hooks
  const hooks = { ledger: [...ledger, ...changeHooks], records }
  const opened = await openStore(storePlaceOf(config), {
    hooks,
    runtime,
    observers: metrics.store.observers,
    logger,
    onOutage: reason => {
      metrics.store.onOutage(reason)
      if (reason === undefined) logger.info('the store is available again')
      else logger.warn({ reason }, 'the store is unavailable')
    },
  })
  stack.defer(() => opened.close())
  const closing = new AbortController()
  stack.defer(() => closing.abort())
  const probe = probeStore(opened.ledger, { signal: closing.signal, runtime })
  const store = noteFailedWrites(opened, probe)
  return { store, probe, now: await openClock(store, parts) }
}

/** Returns the store with every failed write reported to the probe. */
const noteFailedWrites = (store: Store, { noteFailure }: StoreProbe): Store => {
  const noteFailed = async <R>(written: Promise<R>): Promise<R> => {
    try {
      return await written
    } catch (error) {
      noteFailure(error)
      throw error
    }
  }
  return {
    ...store,
    ledger: withChangeHook(store.ledger, (work, commit) => noteFailed(commit(work))),
    records: withChangeHook(store.records, (work, commit) => noteFailed(commit(work))),
  }
}

/** Coordinators that share a store share its clock. */
const openClock = async (
  { ledger, isShared }: Store,
  { schedules, now, nowMs }: StoreParts,
): Promise<() => number> => {
  if (!isShared) return now
  const clock = await StoreClock.open({ ledger, nowMs })
  schedules.every('store.clock', SYNC_SECONDS, () => clock.sync())
  return clock.now
}
