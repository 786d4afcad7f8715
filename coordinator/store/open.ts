import type { Base } from '../base/base.ts'
import { probeStore, type StoreProbe } from './probe.ts'
import { openStore, type Store } from './store.ts'

export interface StoreParts extends Pick<Base, 'stack' | 'nowMs'> {
  config: { state_dir: string }
  figures: { store: { watch(store: Store): Store } }
}

/** The store, measured, and a probe that tells whether it can be relied on. */
export const openStorePart = async (
  parts: StoreParts,
): Promise<{ store: Store; probe: StoreProbe }> => {
  const { config, figures, stack, nowMs } = parts
  const store = figures.store.watch(await openStore(config.state_dir))
  stack.defer(store.close)
  const closing = new AbortController()
  stack.defer(() => closing.abort())
  return { store, probe: probeStore(store.ledger, { signal: closing.signal, nowMs }) }
}
