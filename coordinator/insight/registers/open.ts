import type { Base } from '../../kernel/base/base.ts'
import type { Store } from '../../kernel/store/store.ts'
import { Registers } from './registers.ts'

export interface RegisterViews {
  registers: Registers
}

interface RegisterDomainParts extends Pick<Base, 'now' | 'runtime'> {
  store: Pick<Store, 'ledger'>
}

/** Records that operators keep, such as subscriptions, costs and people. */
export const openRegisters = ({
  store,
  now,
  runtime,
}: RegisterDomainParts): { registers: Registers; views: RegisterViews } => {
  const registers = new Registers({ store, now, runtime })
  return { registers, views: { registers } }
}
