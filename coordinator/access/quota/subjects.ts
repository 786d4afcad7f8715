import type { LRUCache } from 'lru-cache'
import { createBoundedCache } from '../../kernel/base/bounded-cache.ts'
import type { Account } from './account.ts'
import type { AllowanceName } from './tiers.ts'

/**
 * Bounded cache of the accounts in memory. Addresses without a key have a cache of their own, so
 * that a flood of them cannot evict keys.
 */
export class Subjects {
  readonly #keys: LRUCache<string, Account>
  readonly #anonymous: LRUCache<string, Account>

  constructor(capacity: number) {
    this.#keys = createBoundedCache(capacity)
    this.#anonymous = createBoundedCache(capacity)
  }

  get(id: string, tier: AllowanceName): Account | undefined {
    return this.#side(tier).get(id)
  }

  /** Adds an account that is not in the cache; returns the account that was evicted for it. */
  add(account: Account, tier: AllowanceName): Account | undefined {
    const side = this.#side(tier)
    const evicted = side.size === side.maxSize ? side.pop() : undefined
    side.set(account.id, account)
    return evicted
  }

  /** False once the account was evicted with a request still in flight. */
  holds(account: Account, tier: AllowanceName): boolean {
    return this.#side(tier).get(account.id) === account
  }

  /** The accounts of an id. */
  find(id: string): Account[] {
    return [this.#keys.peek(id), this.#anonymous.peek(id)].filter(account => account !== undefined)
  }

  list(): Account[] {
    return [...this.#keys.values(), ...this.#anonymous.values()]
  }

  drop(account: Account): void {
    for (const side of [this.#keys, this.#anonymous]) {
      if (side.get(account.id) === account) side.delete(account.id)
    }
  }

  #side(tier: AllowanceName): LRUCache<string, Account> {
    return tier === 'anonymous' ? this.#anonymous : this.#keys
  }
}
