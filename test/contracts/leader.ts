import type { Test } from 'tap'
import { fenceLedger } from '../../coordinator/kernel/leader/fence.ts'
import type { Leader } from '../../coordinator/kernel/leader/leader.ts'
import type { Ledger } from '../../coordinator/kernel/store/store.ts'

/** A process that may lead, on a store that all candidates of a bench share. */
interface LeaderCandidate {
  leader: Leader
  ledger: Ledger
  /** Makes the process renew or claim the lead now, as its timer would. */
  campaign(): Promise<void>
}

interface LeaderBench {
  /** One candidate where the store belongs to one process, else two. */
  candidates: readonly LeaderCandidate[]
  /** Moves the clocks of the store and of the processes. */
  advance(milliseconds: number): unknown
  /** Longest time that a leader which does not renew may go on. */
  tenureMs: number
}

/** True when work of the leader can write, for each lane. */
const canWrite = async ({ leader, ledger }: LeaderCandidate): Promise<boolean> => {
  const { sealed, free } = fenceLedger(ledger, leader)
  const writes = [sealed.write(async () => true), free.write(async () => true)]
  const [first, second] = await Promise.all(writes.map(write => write.catch(() => false)))
  if (first !== second) throw new Error('one lane is fenced, the other is not')
  return first === true
}

/** What every implementation of the leader must do. */
export const testLeader = (t: Test, open: (t: Test) => Promise<LeaderBench>): void => {
  t.test('one process leads, and only it writes as the leader', async t => {
    const { candidates } = await open(t)
    for (const candidate of candidates) await candidate.campaign()
    t.strictSame(
      candidates.map(({ leader }) => leader.isLeader()),
      candidates.map((_, i) => i === 0),
    )
    t.strictSame(
      await Promise.all(candidates.map(canWrite)),
      candidates.map((_, i) => i === 0),
    )
  })

  t.test('a leader that closes stops leading, and another process takes over at once', async t => {
    const { candidates } = await open(t)
    const [first, second] = candidates
    for (const candidate of candidates) await candidate.campaign()
    await first?.leader.close()
    t.notOk(first?.leader.isLeader())
    t.notOk(first && (await canWrite(first)))
    if (second === undefined) return
    await second.campaign()
    t.ok(second.leader.isLeader() && (await canWrite(second)))
  })

  t.test('a leader that cannot renew steps down by itself and is fenced', async t => {
    const { candidates, advance, tenureMs } = await open(t)
    const [first, second] = candidates
    for (const candidate of candidates) await candidate.campaign()
    await advance(tenureMs)
    if (first === undefined || second === undefined) return
    t.notOk(first.leader.isLeader(), 'before another process leads')
    await second.campaign()
    t.ok(second.leader.isLeader())
    t.notOk(await canWrite(first), 'what it writes late is refused')
    await first.campaign()
    t.notOk(first.leader.isLeader(), 'it waits for its turn')
  })
}
