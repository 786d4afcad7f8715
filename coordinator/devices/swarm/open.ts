import type { Fleet } from '../../fleet/cells/fleet.ts'
import type { Commands } from '../../fleet/control/commands.ts'
import type { Base } from '../../kernel/base/base.ts'
import type { OpenLeader } from '../../kernel/leader/open.ts'
import type { Store } from '../../kernel/store/store.ts'
import type { Stops } from '../estop/stops.ts'
import type { Devices } from '../inventory/devices.ts'
import type { SwarmConfig } from './config.ts'
import { deleteOldFormations } from './formation-rows.ts'
import { Formations } from './formations.ts'
import { Swarm } from './swarm.ts'

/** Operations on formations of devices. */
export interface SwarmViews {
  swarm: Swarm
  formations: Omit<Formations, 'follow'>
}

interface SwarmDomainParts
  extends Pick<Base, 'schedules' | 'logger' | 'now' | 'runtime'>,
    Pick<OpenLeader, 'leaderWork'> {
  config: { swarm: SwarmConfig }
  store: Pick<Store, 'ledger'>
  devices: Devices
  fleet: Pick<Fleet, 'cell'>
  stops: Pick<Stops, 'findCovering'>
  views: { commands: Pick<Commands, 'create' | 'createWithin' | 'get'> }
}

const FOLLOW_SECONDS = 0.5
const FORGET_SECONDS = 3600
/** Time for which formations that have ended are kept. */
const KEEP_MS = 183 * 86_400_000

/** Formations of devices; every coordinator follows them, so that none must stay. */
export const openSwarm = (parts: SwarmDomainParts): { views: SwarmViews } => {
  const { config, store, devices, stops, views, schedules, leaderWork, now } = parts
  const { ledger } = store
  const formations = new Formations({ ...parts, ledger, commands: views.commands })
  schedules.every('swarm.follow', FOLLOW_SECONDS, () => formations.follow())
  leaderWork.every('swarm.forget', FORGET_SECONDS, leaders =>
    leaders.sealed.write(trx => deleteOldFormations(trx, now() - KEEP_MS)),
  )
  const swarm = new Swarm({ config: config.swarm, devices, stops, formations })
  return { views: { swarm, formations } }
}
