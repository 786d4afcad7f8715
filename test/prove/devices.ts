import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import fc from 'fast-check'
import { verifyAudit } from '../../coordinator/kernel/audit/verify.ts'
import { openStore } from '../../coordinator/kernel/store/store.ts'
import { play } from '../daemon/commands/histories.ts'
import { history } from '../daemon/commands/history-steps.ts'
import { createRestlessStage, createSimStage } from '../daemon/devices/sim-stage.ts'
import { type DeviceGame, openDeviceGame } from '../support/device-game.ts'
import { runHistories } from '../support/gate-histories.ts'

/**
 * Commands of simulated devices. First, histories of people at the gates whose approvals a cell
 * executes: a device acts exactly when the right people have approved exactly that, once, in time.
 * Then, histories of one cell: duplicates, reconnects, crashes at every write, full disks and clocks
 * that step, with right, wrong and reused approvals, while e-stops are engaged, released and forged: no
 * motion under an e-stop, none lost that was confirmed, and none released but by the coordinator. Last, the
 * same with devices that acknowledge a stop and drive on: no command says that they were stopped.
 */
export const main = async (argv: string[]): Promise<boolean> => {
  const { values } = parseArgs({
    args: argv,
    options: {
      approvals: { type: 'string', default: '100000' },
      histories: { type: 'string', default: '10000' },
      seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 30)) },
      /** A folder in memory spares the disk's waiting; what is proven does not depend on it. */
      folder: { type: 'string', default: tmpdir() },
    },
  })
  const seed = Number(values.seed)
  console.log(`seed ${seed}`)
  try {
    const areApproved = await proveApprovals(values.folder, Number(values.approvals), seed)
    const areExecuted = await proveExecution(Number(values.histories), seed)
    const areConfirmed = await proveUnconfirmed(Math.ceil(Number(values.histories) / 10), seed)
    return areExecuted && areConfirmed && areApproved
  } catch (error) {
    console.log(error)
    return false
  }
}

const proveApprovals = async (parent: string, count: number, seed: number): Promise<boolean> => {
  const folder = mkdtempSync(join(parent, 'shoal-devices-'))
  const store = await openStore(folder)
  let game: DeviceGame | undefined
  try {
    const { histories, used } = await runHistories(store, {
      count,
      seed,
      createGame: async (signer, clock) => {
        game = await openDeviceGame(signer, clock)
        return game
      },
    })
    const { ok } = await verifyAudit(store.ledger)
    const { executed = 0, refused = 0 } = game?.tally ?? {}
    console.log(
      `${histories} histories of approvals: ${used} approvals used, ${executed} commands executed, ${refused} refused by the cell, audit ${ok ? 'whole' : 'broken'}`,
    )
    return ok && executed > 0 && refused > 0
  } finally {
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

const proveExecution = async (numRuns: number, seed: number): Promise<boolean> => {
  const sums = {
    ...{ runs: 0, unsafeRuns: 0, commands: 0, crashes: 0 },
    ...{ estops: 0, releases: 0, held: 0, freed: 0 },
  }
  const result = await fc.check(
    fc.asyncProperty(history, async steps => {
      const findings = await play(steps, createSimStage)
      for (const name of Object.keys(sums) as (keyof typeof sums)[]) sums[name] += findings[name]
      return findings.violations.length === 0
    }),
    { numRuns, seed },
  )
  console.log(`${result.numRuns} histories of one cell`, sums)
  const [steps = []] = result.counterexample ?? []
  if (result.failed)
    console.log(JSON.stringify(steps), (await play(steps, createSimStage)).violations)
  return !result.failed && Object.values(sums).every(sum => sum > 0)
}

/** Devices that acknowledge a stop and drive on: no command says that they were stopped. */
const proveUnconfirmed = async (numRuns: number, seed: number): Promise<boolean> => {
  let unconfirmed = 0
  /** Findings of the newest failed history; rest takes real time, which no replay repeats. */
  let violations: string[] = []
  const result = await fc.check(
    fc.asyncProperty(history, async steps => {
      const findings = await play(steps, createRestlessStage)
      unconfirmed += findings.unconfirmed
      if (findings.violations.length > 0) violations = findings.violations
      return findings.violations.length === 0
    }),
    { numRuns, seed },
  )
  console.log(`${result.numRuns} histories of restless devices: ${unconfirmed} unconfirmed`)
  if (result.failed) console.log(JSON.stringify(result.counterexample?.[0]), violations)
  return !result.failed && unconfirmed > 0
}
