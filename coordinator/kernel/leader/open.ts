import type { Base } from '../base/base.ts'
import { createLeases, type Leases } from '../leases/leases.ts'
import type { Replicas } from '../replicas/replicas.ts'
import type { Ledger, Store } from '../store/store.ts'
import { fenceLedger } from './fence.ts'
import type { Leader } from './leader.ts'
import { CAMPAIGN_SECONDS, LEADER_LEASE, LeaseLeader } from './lease-leader.ts'
import { createSoleLeader } from './sole-leader.ts'

/** Work that only the leader does. */
interface LeaderWork {
  /**
   * Adds a schedule like those of the base, but a run is skipped while another process leads. The
   * run writes to the ledger that it is given, which refuses a process that was superseded
   * meanwhile.
   */
  every(name: string, seconds: number, run: (ledger: Ledger) => unknown): void
  /** Does one run now, in the same way, unless another process leads. Rejects when the run fails. */
  runOnce(run: (ledger: Ledger) => unknown): Promise<void>
}

/** The leader, and work that only the leader does. */
export interface OpenLeader {
  leader: Leader
  leaderWork: LeaderWork
  /** Returns the id of the coordinator that leads; undefined between two tenures. */
  readLeaderId(): Promise<string | undefined>
}

interface LeaderParts extends Pick<Base, 'stack' | 'schedules' | 'logger' | 'runtime'> {
  store: Pick<Store, 'ledger' | 'isShared'>
  replicas: Pick<Replicas, 'id'>
}

/** SQLite has one process for a state folder, which therefore always leads. */
export const openLeader = async (parts: LeaderParts): Promise<OpenLeader> => {
  const { stack, schedules, store, replicas } = parts
  const leases = createLeases(store.ledger)
  const leader = store.isShared ? await openLeaseLeader(parts, leases) : createSoleLeader()
  stack.defer(() => leader.close())
  const fenced = fenceLedger(store.ledger, leader)
  const runOnce: LeaderWork['runOnce'] = async run => {
    if (leader.isLeader()) await run(fenced)
  }
  const every: LeaderWork['every'] = (name, seconds, run) =>
    schedules.every(name, seconds, () => runOnce(run))
  const readLeaderId = async () => (store.isShared ? leases.readOwner(LEADER_LEASE) : replicas.id)
  return { leader, leaderWork: { every, runOnce }, readLeaderId }
}

/** Another coordinator may lead; this one takes over when it must. */
const openLeaseLeader = async (
  { replicas, schedules, logger, runtime }: LeaderParts,
  leases: Leases,
): Promise<LeaseLeader> => {
  const leader = new LeaseLeader({ leases, owner: replicas.id, logger, runtime })
  await leader.campaign()
  schedules.every('leader.campaign', CAMPAIGN_SECONDS, () => leader.campaign())
  return leader
}
