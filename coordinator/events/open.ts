import type { Base } from '../base/base.ts'
import { createEvents, type Events } from './bus.ts'

interface EventsParts extends Pick<Base, 'logger'> {
  config: { name: string; events: { kept: number } }
}

/** Events of this process, under the name of the coordinator. */
export const openEvents = ({ config, logger }: EventsParts): { events: Events } => ({
  events: createEvents({ source: sourceOf(config), kept: config.events.kept, logger }),
})

/** Source of every event (CloudEvents 1.0.2, 3.1.1). */
export const sourceOf = ({ name }: { name: string }): string => `/shoal/${name}`
