import type { Base } from '../base/base.ts'
import type { CoordinatorConfig } from '../config.ts'
import { storePlaceOf } from './place.ts'
import { probeStore, type StoreProbe } from './probe.ts'
import { openStore, type Store, type StoreHooks } from './store.ts'

export interface StoreParts extends Pick<Base, 'stack' | 'nowMs'> {
  config: Pick<CoordinatorConfig, 'state_dir' | 'store'>
  figures: { store: { hooks: Required<StoreHooks> } }
  /** Hooks around every change of the ledger, inside the measurement. */
  changeHooks: NonNullable<StoreHooks['ledger']>
}

/** The store, measured, and a probe that tells whether it can be relied on. */
export const openStorePart = async (
  parts: StoreParts,
): Promise<{ store: Store; probe: StoreProbe }> => {
  const { config, figures, changeHooks, stack, nowMs } = parts
  const { ledger, records } = figures.store.hooks
  const hooks = { ledger: [...ledger, ...changeHooks], records }
  const store = await openStore(storePlaceOf(config), { hooks })
  stack.defer(() => store.close())
  const closing = new AbortController()
  stack.defer(() => closing.abort())
  return { store, probe: probeStore(store.ledger, { signal: closing.signal, nowMs }) }
}
