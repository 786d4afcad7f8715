import * as z from 'zod'
import type { Base } from '../base/base.ts'
import type { Configs } from '../control/configs.ts'
import type { Fleet } from '../fleet/fleet.ts'
import type { Monitor } from '../fleet/monitor.ts'
import { defineJobKind } from '../queue/job-kind.ts'
import type { OpenQueue } from '../queue/open.ts'
import type { Store } from '../store/store.ts'
import { carryOn } from './carry-on.ts'
import { RAMP_UP, RampUps } from './ramp-ups.ts'
import type { RampUpConfig } from './rampup-config.ts'

interface RampUpDomainParts extends Pick<Base, 'now'> {
  config: { rampup: RampUpConfig }
  store: Pick<Store, 'ledger'>
  work: Pick<OpenQueue, 'queue' | 'addKind'>
  configs: Pick<Configs, 'set' | 'show' | 'list'>
  fleet: Pick<Fleet, 'cell' | 'cells'>
  monitor: Pick<Monitor, 'alerts'>
}

const KEPT_DAYS = 90

/** Ramp-ups of settings in stages. */
export const openRampUps = (parts: RampUpDomainParts): { views: { rampUps: RampUps } } => {
  const { config, store, work, configs, fleet, monitor, now } = parts
  const { ledger } = store
  work.addKind(
    defineJobKind({
      kind: RAMP_UP,
      payload: z.object({ id: z.string() }),
      account: () => ({ project: 'rampup' }),
      // an attempt ends only when its process does
      maxAttempts: 10_000,
      backOff: { firstSeconds: 1, factor: 2, maxSeconds: 60 },
      concurrency: 1,
      timeoutSeconds: 600,
      leaseSeconds: 10,
      keptDays: KEPT_DAYS,
      run: ({ id }, { job }) =>
        carryOn({ ledger, configs, fleet, alerts: () => monitor.alerts(), now }, id, job),
    }),
  )
  const { rampup } = config
  const rampUps = new RampUps({ ledger, config: rampup, queue: work.queue, configs, fleet, now })
  return { views: { rampUps } }
}
