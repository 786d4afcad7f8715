import { DAY_MS } from '../../../shared/time.ts'
import type { Base } from '../../kernel/base/base.ts'
import type { OpenLeader } from '../../kernel/leader/open.ts'
import type { OpenQueue } from '../../kernel/queue/open.ts'
import type { Store } from '../../kernel/store/store.ts'
import type { Monitor } from '../alerts/monitor.ts'
import type { Fleet } from '../cells/fleet.ts'
import type { Configs } from '../control/configs.ts'
import { ErrorShares } from './error-share.ts'
import { forgetRampUps } from './ramp-up-claim.ts'
import { createRampUpKind, KEPT_DAYS } from './ramp-up-kind.ts'
import { RampUps } from './ramp-ups.ts'
import type { RampUpConfig } from './rampup-config.ts'

const FORGET_SECONDS = 3600
const FORGET_AT_ONCE = 500

/** Ramp-ups, as operations see them. */
export interface RampUpViews {
  rampUps: RampUps
}

interface RampUpDomainParts extends Pick<Base, 'now' | 'runtime'>, Pick<OpenLeader, 'leaderWork'> {
  config: { rampup: RampUpConfig }
  store: Pick<Store, 'ledger' | 'records'>
  work: Pick<OpenQueue, 'queue' | 'addKind'>
  configs: Pick<Configs, 'set' | 'show'>
  fleet: Pick<Fleet, 'cell' | 'cells'>
  monitor: Pick<Monitor, 'alerts'>
}

/** Ramp-ups of settings in stages. */
export const openRampUps = (parts: RampUpDomainParts): { views: RampUpViews } => {
  const { config, store, work, configs, fleet, monitor, leaderWork, now, runtime } = parts
  const { ledger, records } = store
  const { alerts } = monitor
  const errorShares = new ErrorShares({ records, now })
  work.addKind(createRampUpKind({ ledger, errorShares, configs, fleet, alerts, now }))
  leaderWork.every('rampup.forget', FORGET_SECONDS, async led => {
    const before = now() - KEPT_DAYS * DAY_MS
    while (await forgetRampUps(led, before, FORGET_AT_ONCE));
  })
  const { rampup } = config
  const rampUps = new RampUps({
    ledger,
    config: rampup,
    queue: work.queue,
    configs,
    fleet,
    now,
    runtime,
  })
  return { views: { rampUps } }
}
