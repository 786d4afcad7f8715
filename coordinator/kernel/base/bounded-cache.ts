import { LRUCache } from 'lru-cache'

/**
 * Creates a cache that evicts the least recently used entry beyond a number of entries. It is bounded
 * by `maxSize` because `max` allocates the room for all entries at once: some 10 MB and 40 ms of CPU
 * time at the start of a coordinator.
 */
export const createBoundedCache = <Key extends {}, Value extends {}>(
  maxEntries: number,
): LRUCache<Key, Value> => new LRUCache({ maxSize: maxEntries, sizeCalculation: () => 1 })
