import type { Base } from '../base/base.ts'
import type { Configs } from '../control/configs.ts'
import type { Fleet } from '../fleet/fleet.ts'
import type { Monitor } from '../fleet/monitor.ts'
import type { OpenQueue } from '../queue/open.ts'
import type { Store } from '../store/store.ts'
import { createRampUpKind } from './ramp-up-kind.ts'
import { RampUps } from './ramp-ups.ts'
import type { RampUpConfig } from './rampup-config.ts'

interface RampUpDomainParts extends Pick<Base, 'now'> {
  config: { rampup: RampUpConfig }
  store: Pick<Store, 'ledger' | 'records'>
  work: Pick<OpenQueue, 'queue' | 'addKind'>
  configs: Pick<Configs, 'set' | 'show'>
  fleet: Pick<Fleet, 'cell' | 'cells'>
  monitor: Pick<Monitor, 'alerts'>
}

/** Ramp-ups of settings in stages. */
export const openRampUps = (parts: RampUpDomainParts): { views: { rampUps: RampUps } } => {
  const { config, store, work, configs, fleet, monitor, now } = parts
  const { ledger, records } = store
  const { alerts } = monitor
  work.addKind(createRampUpKind({ ledger, records, configs, fleet, alerts, now }))
  const { rampup } = config
  const rampUps = new RampUps({ ledger, config: rampup, queue: work.queue, configs, fleet, now })
  return { views: { rampUps } }
}
