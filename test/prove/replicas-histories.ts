import { parseArgs } from 'node:util'
import { playGates, playIdempotency, playKeys, playQuota } from './support/histories.ts'
import { ReplicaSet } from './support/replica-set.ts'

const MONTH_LIMIT = 200

/** Flags of the coordinators: the month of a key ends within the histories. */
export const HISTORY_FLAGS = [
  ...['--tiers-free-requests-per-month', `${MONTH_LIMIT}`],
  ...['--tiers-free-requests-per-minute', '100000'],
]

/**
 * Clients of keys, gates, quota and idempotent calls at three coordinators, each call at any of
 * them: every history could have happened at one coordinator.
 */
export const main = async (argv: string[]): Promise<boolean> => {
  const options = {
    clients: { type: 'string', default: '16' },
    rounds: { type: 'string', default: '6' },
  } as const
  const { values } = parseArgs({ args: argv, options })
  const [clients, rounds] = [Number(values.clients), Number(values.rounds)]
  const set = await ReplicaSet.start({ flags: HISTORY_FLAGS })
  try {
    return await proveHistories(set, { clients, rounds })
  } finally {
    await set.stop()
  }
}

/** Plays and judges the histories at coordinators that were started with `HISTORY_FLAGS`. */
export const proveHistories = async (
  set: ReplicaSet,
  { clients, rounds }: { clients: number; rounds: number },
): Promise<boolean> => {
  const histories = [
    playKeys(set),
    playGates(set),
    playIdempotency(set),
    playQuota(set, MONTH_LIMIT),
  ]
  let holds = true
  for (const { name, play, recorder } of histories) {
    const times = name === 'quota' ? rounds * MONTH_LIMIT : rounds
    const client = async (): Promise<void> => {
      for (let round = 0; round < times / (name === 'quota' ? clients : 1); round++) await play()
    }
    await Promise.all(Array.from({ length: clients }, client))
    const faults = recorder.findFaults()
    console.log(`${name}: ${recorder.size} calls of ${clients} clients, ${faults.length} faults`)
    console.log(`  ${recorder.countOutputs()}`)
    for (const fault of faults.slice(0, 3)) console.log(`  ${fault.slice(0, 2000)}`)
    holds &&= faults.length === 0 && recorder.answered > recorder.size / 2
  }
  return holds
}
