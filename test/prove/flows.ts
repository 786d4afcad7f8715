import { parseArgs } from 'node:util'
import { killInFlows } from '../support/flow-kills.ts'

/**
 * Flows are started while the coordinator is killed with kill -9 again and again: each step has its
 * effect once or is reported as unknown, and no acknowledged run or job is lost.
 */
export const main = async (argv: string[]): Promise<boolean> => {
  const options = { kills: { type: 'string', default: '100' } } as const
  const kills = Number(parseArgs({ args: argv, options }).values.kills)
  const { faults, ends, ...counts } = await killInFlows(kills)
  for (const fault of faults.slice(0, 20)) console.log(fault)
  console.log(
    `${counts.kills} kills, ${counts.killsAtWork} of them with runs at work, ${counts.interrupted} calls interrupted, ` +
      `${counts.acknowledged} starts acknowledged, ${counts.runs} runs (${JSON.stringify(ends)}), ` +
      `${counts.effects} effects, ${faults.length} faults`,
  )
  return faults.length === 0 && counts.interrupted > 0
}
