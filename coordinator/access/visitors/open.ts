import type { Base } from '../../kernel/base/base.ts'
import type { Store } from '../../kernel/store/store.ts'
import { createVisitors, type VisitorSettings, type Visitors } from './visitors.ts'

export interface VisitorViews {
  visitors: Visitors
}

interface VisitorParts extends Pick<Base, 'now'> {
  config: { keys: VisitorSettings }
  store: Pick<Store, 'ledger'>
}

export const openVisitors = ({ config, store, now }: VisitorParts): { views: VisitorViews } => ({
  views: { visitors: createVisitors({ ledger: store.ledger, settings: config.keys, now }) },
})
