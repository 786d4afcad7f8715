import type { Transaction } from 'kysely'
import { type Runtime, stopTimer, systemRuntime } from '../../../shared/runtime.ts'
import type { Database } from './engine.ts'
import type { LedgerTables } from './tables.ts'

/**
 * Subjects that a process may cache and another process may change. The sequence of the events
 * counts as their revision.
 */
type RevisionName =
  | 'keys'
  | 'cells'
  | 'configs'
  | 'policies'
  | 'tasks'
  | 'commands'
  | 'alerts'
  | 'estops'
  | 'devices'
  | 'events'
  | 'secrets'
  | 'audit'
  | 'usage'
  | 'graph_layers'
  | 'graph_learning'
  | 'models'

export interface Revisions {
  /** Calls back after another process changed the subject. Returns how to stop that. */
  onChange(name: RevisionName, listener: () => void): () => void
  /** True where another coordinator may change a subject at any time, and the next look tells. */
  readonly lags: boolean
  /** True from a look that has failed to one that succeeds: changes may be unknown meanwhile. */
  isBehind(): boolean
  /** Looks for changes now. */
  poll(): Promise<void>
  /**
   * Look that must end before a cache is served, in a process that was paused or late: what it knows
   * is older than the next look of a timer would allow. Undefined for others.
   */
  lookAfterPause(): Promise<void> | undefined
  close(): void
}

/** Increments the revision of a subject. Must be called in every transaction that changes it. */
export const bumpRevision = async (
  trx: Transaction<LedgerTables>,
  name: Exclude<RevisionName, 'events'>,
): Promise<void> => {
  await trx
    .insertInto('revisions')
    .values({ name, value: 1 })
    .onConflict(conflict =>
      conflict.column('name').doUpdateSet(row => ({ value: row('revisions.value', '+', 1) })),
    )
    .execute()
}

/** Time for which caches serve while a database on another machine is away. */
const GRACE_MS = 60_000

const BEAT_MS = 200
/** A beat that is so late tells of a pause: together with a poll, changes are known within a second. */
const PAUSE_MS = 500

interface WatchOptions {
  /** Interval of the poll; 0 disables it. */
  pollMilliseconds: number
  /** True where the ledger may be away for a while; a file that cannot be read does not come back. */
  isShared: boolean
  runtime?: Pick<Runtime, 'nowMs' | 'setInterval'> | undefined
}

/**
 * Notices changes by other processes. Looking costs about a microsecond while nothing happens.
 * When the ledger cannot be read, every subject counts as changed, in a shared store after a
 * minute: caches must not outlive the knowledge whether they are still right.
 */
export const watchRevisions = (
  ledger: Database<LedgerTables>,
  { pollMilliseconds, isShared, runtime = systemRuntime }: WatchOptions,
): Revisions => {
  const { nowMs } = runtime
  const listeners = new Map<RevisionName, Set<() => void>>()
  const known = new Map<string, number>()
  let version: number | undefined
  let readAtMs = nowMs()
  let isBehind = false

  /** Resolves when what the listeners began has ended. */
  const tell = async (name: RevisionName): Promise<void> => {
    await Promise.allSettled([...(listeners.get(name) ?? [])].map(listener => listener()))
  }

  /** Looks for changes; returns those that the listeners were told of. */
  const look = async (): Promise<Promise<void>[]> => {
    try {
      const now = ledger.foreignCommits()
      if (now === version) {
        isBehind = false
        return []
      }
      const askedAtMs = nowMs()
      const rows = await ledger.urgentRead
        .selectFrom('revisions')
        .select(['name', 'value'])
        .unionAll(db =>
          db.selectFrom('sequences').select(['name', 'value']).where('name', '=', 'events'),
        )
        .execute()
      readAtMs = askedAtMs
      isBehind = false
      const changed = rows.filter(row => known.get(row.name) !== row.value)
      for (const { name, value } of changed) known.set(name, value)
      version = now
      return changed.map(({ name }) => tell(name as RevisionName))
    } catch {
      isBehind = true
      // listeners cannot have read either: they are told of everything once the ledger is back
      if (isShared) known.clear()
      if (isShared && nowMs() - readAtMs < GRACE_MS) return []
      return [...listeners.keys()].map(tell)
    }
  }
  const poll = async (): Promise<void> => void (await look())

  let isPolling = false
  const pollAlone = async (): Promise<void> => {
    if (isPolling) return
    isPolling = true
    await poll().finally(() => {
      isPolling = false
    })
  }
  const timer =
    pollMilliseconds > 0 ? runtime.setInterval(pollAlone, pollMilliseconds).unref() : undefined

  let beatMs = nowMs()
  let afterPause: Promise<void> | undefined
  const lookAfterPause = (): Promise<void> | undefined => {
    if (timer === undefined) return undefined
    if (afterPause === undefined && nowMs() - beatMs > PAUSE_MS)
      afterPause = look()
        .then(told => Promise.all(told))
        .then(() => {
          beatMs = nowMs()
          afterPause = undefined
        })
    return afterPause
  }
  const beat = (): void => {
    if (lookAfterPause() === undefined) beatMs = nowMs()
  }
  const beats = timer && runtime.setInterval(beat, BEAT_MS).unref()
  return {
    poll,
    lookAfterPause,
    lags: isShared,
    isBehind: () => isBehind,
    onChange: (name, listener) => {
      const set = listeners.get(name) ?? new Set()
      listeners.set(name, set.add(listener))
      return () => set.delete(listener)
    },
    close: () => {
      stopTimer(timer)
      stopTimer(beats)
    },
  }
}
