import { parseArgs } from 'node:util'
import { mostLost } from './support/lost-leases.ts'
import { playMonthEnd } from './support/month-end.ts'

/**
 * Many clients at the end of a key's month, against a real coordinator: exactly the rest of the
 * month is served. Then again, while the coordinator is killed with kill -9: never more than that,
 * and at most a lease for each kill less.
 */
export const main = async (argv: string[]): Promise<boolean> => {
  const options = {
    clients: { type: 'string', default: '256' },
    limit: { type: 'string', default: '50000' },
    left: { type: 'string', default: '5000' },
    kills: { type: 'string', default: '4' },
  } as const
  const { values } = parseArgs({ args: argv, options })
  const [clients, limit, left] = [+values.clients, +values.limit, +values.left]
  let holds = true
  for (const kills of [0, +values.kills]) {
    const startedMs = performance.now()
    const plan = { clients, limit, left, kills }
    const { served, answered, reserved } = await playMonthEnd(plan)
    const [lost, most] = [left - served, mostLost(plan)]
    const seconds = ((performance.now() - startedMs) / 1000).toFixed(1)
    console.log(
      `${clients} clients, ${left} of ${limit} left, ${kills} kills: ${served} served, ` +
        `${answered} answered, ${lost} lost (at most ${most}), ledger at ${reserved}, in ${seconds} s`,
    )
    holds &&= reserved === limit
    holds &&= lost >= 0 && lost <= most && (kills > 0 || answered === left)
  }
  return holds
}
