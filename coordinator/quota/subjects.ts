import { Lru } from '../keys/lru.ts'
import type { Account } from './account.ts'
import type { AllowanceName } from './tiers.ts'

/**
 * The accounts in memory, bounded. Addresses without a key are held apart, so that a flood of them
 * cannot push out keys.
 */
export class Subjects {
  readonly #keys: Lru<string, Account>
  readonly #anonymous: Lru<string, Account>

  constructor(capacity: number) {
    this.#keys = new Lru(capacity)
    this.#anonymous = new Lru(capacity)
  }

  get(id: string, tier: AllowanceName): Account | undefined {
    return this.#side(tier).get(id)
  }

  /** Answers the account that had to go for it. */
  add(account: Account, tier: AllowanceName): Account | undefined {
    return this.#side(tier).set(account.id, account)
  }

  /** False for an account that had to go while a request was still counted on it. */
  holds(account: Account, tier: AllowanceName): boolean {
    return this.#side(tier).get(account.id) === account
  }

  all(): Account[] {
    return [...this.#keys.values(), ...this.#anonymous.values()]
  }

  drop(account: Account): void {
    for (const side of [this.#keys, this.#anonymous]) {
      if (side.get(account.id) === account) side.delete(account.id)
    }
  }

  #side(tier: AllowanceName): Lru<string, Account> {
    return tier === 'anonymous' ? this.#anonymous : this.#keys
  }
}
