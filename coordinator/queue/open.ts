import type { Base } from '../base/base.ts'
import { Listeners } from '../base/listeners.ts'
import type { Store } from '../store/store.ts'
import type { JobKind, JobKinds } from './job-kind.ts'
import { createQueue, type Queue } from './queue.ts'

/** Work that waits, runs or has ended. */
export interface QueueViews {
  queue: Omit<Queue, 'add' | 'addWithin' | 'wake'>
}

/** The queue, for the parts that put work into it. */
export interface OpenQueue {
  queue: Queue
  kinds: JobKinds
  /** Adds a kind of work; the worker must not run yet. Throws TypeError for a name that is taken. */
  addKind(kind: JobKind): void
  /** Reports that there may be work. Returns how to stop that. */
  onWork(listener: () => void): () => void
}

export interface QueueDomainParts extends Pick<Base, 'now'> {
  store: Pick<Store, 'ledger'>
}

/** Work can be put into the queue at once; `openWorker` runs it when every kind is known. */
export const openQueue = ({
  store,
  now,
}: QueueDomainParts): { work: OpenQueue; views: QueueViews } => {
  const kinds = new Map<string, JobKind>()
  const work = new Listeners<[]>()
  const queue = createQueue({ ledger: store.ledger, kinds: () => kinds, now, wake: work.notify })
  const addKind = (kind: JobKind): void => {
    if (kinds.has(kind.kind)) throw new TypeError(`two kinds of job are named ${kind.kind}`)
    kinds.set(kind.kind, kind)
  }
  return { work: { queue, kinds, addKind, onWork: work.add }, views: { queue } }
}
