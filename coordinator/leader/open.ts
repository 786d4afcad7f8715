import { setTimeout } from 'node:timers/promises'
import { ShoalError } from '../../shared/errors.ts'
import { newId } from '../../shared/ids.ts'
import type { Base } from '../base/base.ts'
import { createLeases } from '../store/leases.ts'
import type { Ledger, Store } from '../store/store.ts'
import { fenceLedger } from './fence.ts'
import type { Leader } from './leader.ts'
import { LeaseLeader } from './lease-leader.ts'
import { createSoleLeader } from './sole-leader.ts'

/** Work that only the leader does. */
interface LeaderWork {
  /**
   * Like the schedules of the base, but a run is skipped while another process leads. The run
   * writes to the ledger that it is given, which refuses a process that was superseded meanwhile.
   */
  every(name: string, seconds: number, run: (ledger: Ledger) => unknown): void
  /** Does one run now, in the same way, unless another process leads. Rejects when the run fails. */
  runOnce(run: (ledger: Ledger) => unknown): Promise<void>
}

/** The leader, and work that only the leader does. */
export interface OpenLeader {
  leader: Leader
  leaderWork: LeaderWork
}

interface LeaderParts extends Pick<Base, 'stack' | 'schedules' | 'logger' | 'nowMs'> {
  store: Pick<Store, 'ledger' | 'isShared'>
}

/** SQLite has one process for a state folder, which therefore always leads. */
export const openLeader = async (parts: LeaderParts): Promise<OpenLeader> => {
  const { stack, schedules, store } = parts
  const leader = store.isShared ? await openLeaseLeader(parts) : createSoleLeader()
  stack.defer(() => leader.close())
  const fenced = fenceLedger(store.ledger, leader)
  const runOnce: LeaderWork['runOnce'] = async run => {
    if (leader.isLeader()) await run(fenced)
  }
  const every: LeaderWork['every'] = (name, seconds, run) =>
    schedules.every(name, seconds, () => runOnce(run))
  return { leader, leaderWork: { every, runOnce } }
}

/** Longer than the tenure of a coordinator that was killed just before. */
const FIRST_CAMPAIGN_MS = 6000
const BETWEEN_MS = 250

/**
 * Leads from the start. Throws `conflict` when another coordinator leads: much of what a process
 * remembers is not in the store yet, so that two of them would not agree.
 */
const openLeaseLeader = async ({ store, logger, nowMs }: LeaderParts): Promise<LeaseLeader> => {
  const leases = createLeases(store.ledger)
  const leader = new LeaseLeader({ leases, owner: newId('replica'), logger, nowMs })
  for (const endMs = nowMs() + FIRST_CAMPAIGN_MS; nowMs() < endMs; await setTimeout(BETWEEN_MS)) {
    await leader.campaign()
    if (leader.isLeader()) return leader
  }
  await leader.close()
  throw new ShoalError('conflict', 'another coordinator uses the store: stop it first')
}
