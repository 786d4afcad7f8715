import type { Base } from '../base/base.ts'
import { probeStore, type StoreProbe } from './probe.ts'
import { openStore, type Store, type StoreHooks } from './store.ts'

export interface StoreParts extends Pick<Base, 'stack' | 'nowMs'> {
  config: { state_dir: string }
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
  const store = await openStore(config.state_dir, { hooks })
  stack.defer(() => store.close())
  const closing = new AbortController()
  stack.defer(() => closing.abort())
  return { store, probe: probeStore(store.ledger, { signal: closing.signal, nowMs }) }
}
