import type { Base } from '../base/base.ts'
import type { OpenLeader } from '../leader/open.ts'
import type { Store } from '../store/store.ts'
import type { Events } from './bus.ts'
import { EventLog } from './event-log.ts'
import { pruneEvents } from './prune-events.ts'

interface EventsParts
  extends Pick<Base, 'stack' | 'logger' | 'now' | 'runtime'>,
    Pick<OpenLeader, 'leaderWork'> {
  config: { name: string; events: { kept: number } }
  store: Pick<Store, 'ledger' | 'revisions'>
}

const PRUNE_SECONDS = 60

/** Events of all coordinators on the store; those of this one have its name. */
export const openEvents = async (parts: EventsParts): Promise<{ events: Events }> => {
  const { config, store, leaderWork, stack, logger, now, runtime } = parts
  const { kept } = config.events
  const events = await EventLog.open({
    store,
    source: sourceOf(config),
    kept,
    logger,
    now,
    runtime,
  })
  stack.defer(() => events.close())
  leaderWork.every('events.prune', PRUNE_SECONDS, ledger => pruneEvents(ledger, kept))
  return { events }
}

/** Source of every event (CloudEvents 1.0.2, 3.1.1). */
export const sourceOf = ({ name }: { name: string }): string => `/shoal/${name}`
