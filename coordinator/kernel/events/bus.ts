import type { SealedTrx } from '../store/store.ts'

/** A CloudEvents 1.0 event in its JSON form (cloudevents/spec, json-format.md). */
export interface CloudEvent {
  specversion: '1.0'
  /** Number of the event in the order of commits over all coordinators of the store. */
  id: string
  /** `/shoal/<name of the coordinator>`. */
  source: string
  /** `shoal.cell.ready`: product, thing, what happened to it. */
  type: string
  /** Id of the thing. */
  subject?: string
  /** RFC 3339, UTC. */
  time: string
  data: unknown
}

/** An event before it has its number. */
export interface EventDraft {
  type: string
  data: unknown
  subject?: string | null | undefined
}

export type EventListener = (event: CloudEvent) => void

/** Events of all coordinators that share the store, in one order. */
export interface Events {
  /**
   * Publishes an event: it is stored and reported within milliseconds, in the order of the calls.
   * It costs the caller nothing, and may be lost when the process is killed just then.
   */
  publish(type: string, data: unknown, subject?: string): void
  /** Stores events in the transaction of the change that they report; both happen or neither. */
  addWithin(trx: SealedTrx, drafts: readonly EventDraft[]): Promise<void>
  /**
   * Listens to types that begin with a prefix (`shoal.cell.`), or to a set of whole types. The
   * listener runs after the commit, also for events of other coordinators. It must be quick; it may
   * throw.
   */
  subscribe(types: string | ReadonlySet<string>, listener: EventListener): () => void
  /**
   * Calls back when the database has lost its newest events in a fail-over. `position` has gone back
   * to the last one that is left; the numbers after it are given again.
   */
  onRewind(listener: () => void): () => void
  /** Reads the newest events again, after the data of some was changed in the store. Never rejects. */
  reload(): Promise<void>
  /** Resolves when everything that is committed now can be read. Never rejects. */
  catchUp(): Promise<void>
  /** Number of the newest event: the position from which a reader gets only new ones. */
  position(): number
  /** Position of the event with this id; undefined when it is no longer kept, or unknown. */
  positionAfter(id: string): number | undefined
  /** Events after a position, oldest first; `missed` when some are no longer kept. */
  read(from: number): { events: CloudEvent[]; missed: boolean }
}
