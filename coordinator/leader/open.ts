import type { Base, PeriodicWork } from '../base/base.ts'
import type { Leader } from './leader.ts'
import { createSoleLeader } from './sole-leader.ts'

/** The leader, and periodic work that only the leader does. */
export interface OpenLeader {
  leader: Leader
  /** Like the schedules of the base, but a run is skipped while another process leads. */
  leaderWork: PeriodicWork
}

/** SQLite has one process for a state folder, which therefore always leads. */
export const openLeader = ({ stack, schedules }: Pick<Base, 'stack' | 'schedules'>): OpenLeader => {
  const leader = createSoleLeader()
  stack.defer(() => leader.close())
  return {
    leader,
    leaderWork: {
      every: (name, seconds, run) =>
        schedules.every(name, seconds, () => (leader.isLeader() ? run() : undefined)),
    },
  }
}
