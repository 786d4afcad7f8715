import type { Base } from '../../kernel/base/base.ts'
import type { Store } from '../../kernel/store/store.ts'
import { Keys } from './keys.ts'

/** API keys, and the persons and tenants that may act with them. */
export interface KeyViews {
  keys: Pick<
    Keys,
    | 'asNow'
    | 'authenticate'
    | 'get'
    | 'getRevocable'
    | 'list'
    | 'listApprovers'
    | 'rotate'
    | 'retire'
    | 'revoke'
    | 'foundTenant'
    | 'enablePerson'
    | 'enableTenant'
  >
}

interface KeyParts extends Pick<Base, 'stack' | 'logger' | 'now' | 'nowMs' | 'runtime'> {
  store: Store
}

export const openKeys = ({
  stack,
  store,
  logger,
  now,
  nowMs,
  runtime,
}: KeyParts): { keys: Keys; views: KeyViews } => {
  const keys = new Keys({ store, logger, now, nowMs, runtime })
  stack.defer(() => keys.close())
  return { keys, views: { keys } }
}
