import { parseArgs } from 'node:util'
import { killInFlows } from '../support/flow-kills.ts'
import { takeOverFlows } from './support/flow-takeovers.ts'

const OPTIONS = {
  kills: { type: 'string', default: '100' },
  pauses: { type: 'string', default: '10' },
  store: { type: 'string', default: 'sqlite' },
} as const

/**
 * Flows are started while a coordinator is killed with kill -9 again and again: each step has its
 * effect once or is reported as unknown, and no acknowledged run or job is lost. With
 * `--store postgres` a second coordinator takes the runs over, and one is also stopped (SIGSTOP)
 * until it has lost them, and continued.
 */
export const main = async (argv: string[]): Promise<boolean> => {
  const { values } = parseArgs({ args: argv, options: OPTIONS })
  const [kills, pauses] = [Number(values.kills), Number(values.pauses)]
  return values.store === 'postgres' ? proveTakeovers({ kills, pauses }) : proveKills(kills)
}

const proveKills = async (kills: number): Promise<boolean> => {
  const { faults, ends, ...counts } = await killInFlows(kills)
  for (const fault of faults.slice(0, 20)) console.log(fault)
  console.log(
    `${counts.kills} kills, ${counts.killsAtWork} of them with runs at work, ${counts.interrupted} calls interrupted, ` +
      `${counts.acknowledged} starts acknowledged, ${counts.runs} runs (${JSON.stringify(ends)}), ` +
      `${counts.effects} effects, ${faults.length} faults`,
  )
  return faults.length === 0 && counts.interrupted > 0
}

const proveTakeovers = async (plan: { kills: number; pauses: number }): Promise<boolean> => {
  const { faults, ends, ...counts } = await takeOverFlows(plan)
  for (const fault of faults.slice(0, 20)) console.log(fault)
  console.log(
    `${counts.kills} kills and ${counts.pauses} pauses of two coordinators, ${counts.callsAtWork} calls at work then, ` +
      `${counts.lostClaims} claims lost with their worker, ${counts.acknowledged} starts acknowledged, ` +
      `${counts.runs} runs (${JSON.stringify(ends)}), ${counts.effects} effects, ${faults.length} faults`,
  )
  return faults.length === 0 && counts.lostClaims > 0
}
