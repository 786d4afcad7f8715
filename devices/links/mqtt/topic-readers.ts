import type { FoundDevice } from './found-device.ts'

/** Topics that changed their readers. */
export interface TopicChange {
  /** Topics with a first reader. */
  added: string[]
  /** Topics without a reader now. */
  removed: string[]
}

/** Devices by the topics that they read. */
export class TopicReaders {
  readonly #ids = new Map<string, Set<string>>()

  list(topic: string): readonly string[] {
    return [...(this.#ids.get(topic) ?? [])]
  }

  /** Replaces the topics of a device; undefined for a device that comes or goes. */
  replace(
    deviceId: string,
    before: FoundDevice | undefined,
    after: FoundDevice | undefined,
  ): TopicChange {
    const change: TopicChange = { added: [], removed: [] }
    for (const topic of before?.topics.keys() ?? [])
      if (!after?.topics.has(topic) && this.#remove(topic, deviceId)) change.removed.push(topic)
    for (const topic of after?.topics.keys() ?? [])
      if (this.#add(topic, deviceId)) change.added.push(topic)
    return change
  }

  #add(topic: string, deviceId: string): boolean {
    const ids = this.#ids.get(topic)
    this.#ids.set(topic, (ids ?? new Set()).add(deviceId))
    return ids === undefined
  }

  #remove(topic: string, deviceId: string): boolean {
    const ids = this.#ids.get(topic)
    ids?.delete(deviceId)
    return ids?.size === 0 && this.#ids.delete(topic)
  }
}
