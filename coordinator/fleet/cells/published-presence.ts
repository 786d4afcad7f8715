import { Listeners } from '../../kernel/base/listeners.ts'
import type { Events } from '../../kernel/events/bus.ts'
import type { Ledger } from '../../kernel/store/store.ts'
import { PRESENCES, type Presence } from './presence.ts'
import { readPublishedPresence } from './presence-rows.ts'

const PREFIX = 'shoal.cell.'

/** Presence of each cell over all coordinators, as it was reported last. */
export class PublishedPresence {
  readonly #told = new Map<string, Presence>()
  /** Runs after a change was reported, by whichever coordinator. */
  readonly changes = new Listeners<[cellId: string, presence: Presence]>()

  static async open(
    ledger: Pick<Ledger, 'read'>,
    events: Pick<Events, 'subscribe'>,
  ): Promise<PublishedPresence> {
    const presence = new PublishedPresence()
    events.subscribe(PREFIX, ({ type, subject }) => {
      if (subject !== undefined) presence.#note(subject, type.slice(PREFIX.length))
    })
    // an event that is heard meanwhile is newer than what is read
    for (const [cellId, told] of await readPublishedPresence(ledger.read))
      if (!presence.#told.has(cellId)) presence.#told.set(cellId, told)
    return presence
  }

  of(cellId: string): Presence | undefined {
    return this.#told.get(cellId)
  }

  #note(cellId: string, what: string): void {
    if (ENDS.includes(what)) this.#told.delete(cellId)
    const presence = PRESENCES.find(each => each === what)
    if (presence === undefined) return
    this.#told.set(cellId, presence)
    this.changes.notify(cellId, presence)
  }
}

/** Events after which a cell has no presence until it comes again. */
const ENDS = ['revoked', 'left', 'quarantined', 'released']
