import type { Base } from '../base/base.ts'
import { Listeners } from '../base/listeners.ts'
import type { Store } from '../store/store.ts'
import type { JobKind, JobKinds } from './job-kind.ts'
import { createQueue, type Queue } from './queue.ts'

/** Queue for operations, which cannot add jobs. */
export interface QueueViews {
  queue: Omit<Queue, 'add' | 'addWithin' | 'hastenWithin' | 'wake'>
}

/** Queue for the domains that add jobs and kinds. */
export interface OpenQueue {
  queue: Queue
  kinds: JobKinds
  /** Adds a kind of work; the worker must not run yet. Throws TypeError when the name is taken. */
  addKind(kind: JobKind): void
  /** Adds a listener that is called when there may be work. Returns a function that removes it. */
  onWork(listener: () => void): () => void
}

interface QueueDomainParts extends Pick<Base, 'now' | 'runtime'> {
  store: Pick<Store, 'ledger'>
}

/** Opens the queue. Jobs can be added at once; `openWorker` runs them when every kind is known. */
export const openQueue = ({
  store,
  now,
  runtime: { ids },
}: QueueDomainParts): { work: OpenQueue; views: QueueViews } => {
  const kinds = new Map<string, JobKind>()
  const work = new Listeners<[]>()
  const queue = createQueue({
    ledger: store.ledger,
    kinds: () => kinds,
    now,
    ids,
    wake: work.notify,
  })
  const addKind = (kind: JobKind): void => {
    if (kinds.has(kind.kind)) throw new TypeError(`two kinds of job are named ${kind.kind}`)
    kinds.set(kind.kind, kind)
  }
  return { work: { queue, kinds, addKind, onWork: work.add }, views: { queue } }
}
