import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { verifyAudit } from '../../coordinator/kernel/audit/verify.ts'
import { runApprovals, runConversations, runTasks } from './support/acknowledged.ts'
import { Receiver, runDeliveries } from './support/deliveries.ts'
import { waitForLeader } from './support/leader.ts'
import { ReplicaSet } from './support/replica-set.ts'
import { runSchedules } from './support/scheduled.ts'

const CLIENTS = 2

/**
 * Approvals, tasks, conversations, deliveries of events and jobs from schedules at three coordinators, one of which
 * is killed with kill -9 again and again: nothing acknowledged is lost, nothing is done twice, and the audit is whole.
 */
export const main = async (argv: string[]): Promise<boolean> => {
  const options = { kills: { type: 'string', default: '100' } } as const
  const kills = Number(parseArgs({ args: argv, options }).values.kills)
  const receiver = await Receiver.open()
  const set = await ReplicaSet.start({ flags: receiver.flags })
  try {
    return await proveKills(set, receiver, { kills, restMs: 20 })
  } finally {
    await set.stop()
    receiver.close()
  }
}

/**
 * Kills coordinators that may deliver to the receiver, the leader first. Each client rests so long after
 * each piece of work.
 */
export const proveKills = async (
  set: ReplicaSet,
  receiver: Receiver,
  { kills, restMs }: { kills: number; restMs: number },
): Promise<boolean> => {
  const works = [
    ...[runApprovals(set), runConversations(set), runTasks(set)],
    await runDeliveries(set, receiver),
    await runSchedules(set, receiver),
  ]
  const over = new AbortController()
  const client = async (run: (signal: AbortSignal) => Promise<void>): Promise<void> => {
    while (!over.signal.aborted) {
      await run(over.signal)
      await sleep(restMs)
    }
  }
  const clients = works.flatMap(({ run }) => Array.from({ length: CLIENTS }, () => client(run)))
  // only the leader runs what is scheduled
  const leader = set.replicas.indexOf(await waitForLeader(set))
  for (let kill = 0; kill < kills; kill++) {
    await sleep(150 + Math.random() * 350)
    await set.killAndRestart(leader + kill)
  }
  over.abort()
  await Promise.all(clients)
  let holds = true
  for (const { name, judge } of works) {
    const { acknowledged, lost, twice } = await judge()
    console.log(`${name}: ${acknowledged} acknowledged, ${lost} lost, ${twice} done twice`)
    holds &&= acknowledged > 0 && lost === 0 && twice === 0
  }
  const { ok } = await verifyAudit(set.store.ledger)
  console.log(`${kills} kills, audit ${ok ? 'whole' : 'broken'}`)
  return holds && ok
}
