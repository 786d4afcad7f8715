/** Request that waits on behalf of a key. */
export interface Waiter {
  keyId: string
}

/** Waiters for one model: in order within each key, round-robin among the keys. */
export class Line<W extends Waiter> {
  /** The key whose turn it is comes first. */
  readonly #keys = new Map<string, Set<W>>()
  #size = 0

  get size(): number {
    return this.#size
  }

  get keys(): number {
    return this.#keys.size
  }

  join(waiter: W): void {
    const own = this.#keys.get(waiter.keyId)
    if (own === undefined) this.#keys.set(waiter.keyId, new Set([waiter]))
    else own.add(waiter)
    this.#size++
  }

  /** False when it was not there any more. */
  leave(waiter: W): boolean {
    const own = this.#keys.get(waiter.keyId)
    if (own?.delete(waiter) !== true) return false
    if (own.size === 0) this.#keys.delete(waiter.keyId)
    this.#size--
    return true
  }

  /** The first one that may come; looks at no more than the whole line. */
  next(mayCome: (waiter: W) => boolean): W | undefined {
    for (const own of this.#keys.values())
      for (const waiter of own) if (mayCome(waiter)) return waiter
    return undefined
  }

  /** Takes it out; the other keys come before its key's next one. */
  take(waiter: W): void {
    const own = this.#keys.get(waiter.keyId)
    if (!this.leave(waiter) || own === undefined || own.size === 0) return
    this.#keys.delete(waiter.keyId)
    this.#keys.set(waiter.keyId, own)
  }

  /** The newest one of the key that has most, when that is more than one more than this key has. */
  greediest(keyId: string): W | undefined {
    let most: Set<W> | undefined
    for (const own of this.#keys.values()) if (own.size > (most?.size ?? 0)) most = own
    const fair = (this.#keys.get(keyId)?.size ?? 0) + 1
    return most !== undefined && most.size > fair ? [...most].at(-1) : undefined
  }
}
