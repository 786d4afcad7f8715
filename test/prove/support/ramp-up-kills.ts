import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { stringify } from 'yaml'
import { readCellConfigs } from '../../../coordinator/fleet/control/config-store.ts'
import { rampUpTable } from '../../../coordinator/fleet/rampup/ramp-up.table.ts'
import type { RampUp } from '../../../coordinator/fleet/rampup/ramp-up.ts'
import type { Store } from '../../../coordinator/kernel/store/store.ts'
import { createApiCaller } from '../../support/device-fleet.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { ReplicaSet } from './replica-set.ts'

/** Longer than the lease of a job, so that the other coordinator continues the ramp-up. */
const PAUSE_MS = 13_000
/** Every how manieth fault is a pause. */
const PAUSE_EVERY = 4

interface KillPlan {
  cells: number
  /** Time between two faults. */
  everyMs: number
}

interface RampUpKills {
  /** Faults that were made while a ramp-up was open. */
  kills: number
  pauses: number
  /** Claims of the jobs of both ramp-ups. */
  claims: number
  /** Observations that break the promise of a ramp-up. */
  faults: string[]
}

const documentOf = (interval_seconds: number) => ({ telemetry: { interval_seconds } })

/** Kills and stops two coordinators while they carry on ramp-ups, and judges what the cells got. */
export const killInRampUps = async ({ cells, everyMs }: KillPlan): Promise<RampUpKills> => {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-ramp-up-kills-'))
  const config = join(folder, 'coordinator.yaml')
  const configure = (seconds: number): void =>
    writeFileSync(
      config,
      stringify({
        rampup: {
          ...{ document: documentOf(seconds), stages_percent: [50, 100] },
          ...{ apply_seconds: 600, hold_seconds: 5 },
        },
      }),
    )
  configure(2)
  const set = await ReplicaSet.start({ count: 2, cells, flags: ['--config', config] })
  const counts = { kills: 0, pauses: 0 }
  const breakUntilEnd = async (id: string, onStage: (stage: number) => Promise<void>) => {
    for (let turn = 0; ; turn++) {
      const { endedAt, stage } = await readRampUp(set.store, id)
      if (endedAt !== undefined) return
      await onStage(stage)
      await sleep(Math.random() * everyMs)
      if (turn % PAUSE_EVERY === PAUSE_EVERY - 1) {
        await pauseAndContinue(set, turn)
        counts.pauses++
      } else {
        await set.killAndRestart(turn)
        counts.kills++
      }
      // settings on probation are rolled back when no coordinator is reached at its end
      await waitForCells(set, cells)
    }
  }
  try {
    const done = await start(set, cells)
    await breakUntilEnd(done, async () => {})
    const faults = await judge(set.store, done, { state: 'done', writesPerCell: 1, seconds: 2 })
    configure(3)
    for (const index of [0, 1]) {
      await set.killAndRestart(index)
      await waitForCells(set, cells)
    }
    const aborted = await start(set, cells)
    await breakUntilEnd(aborted, async stage => {
      if (stage > 0) await control(set, 'abort').catch(() => {})
    })
    faults.push(
      ...(await judge(set.store, aborted, { state: 'aborted', writesPerCell: 2, seconds: 2 })),
    )
    const jobs = await set.store.ledger.read
      .selectFrom('jobs')
      .select('fence')
      .where('kind', '=', 'ramp-up')
      .execute()
    return { ...counts, claims: jobs.reduce((sum, { fence }) => sum + fence, 0), faults }
  } finally {
    await set.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Resolves when both coordinators are connected to every cell. */
const waitForCells = async (set: ReplicaSet, cells: number): Promise<void> => {
  for (const { url } of set.replicas)
    await waitUntil(
      `${url} has every cell`,
      async () => {
        const response = await fetch(`${url}/v1/health`)
        return ((await response.json()) as { cells: number }).cells === cells
      },
      100,
    )
}

/** Coordinators are both up between two faults. */
const control = (set: ReplicaSet, action: string) =>
  createApiCaller(set.url, set.keys).call('operator', 'POST', '/v1/skills/rampup-control', {
    action,
  })

/** Starts a ramp-up of all cells, approved. Returns its id. */
const start = async (set: ReplicaSet, cells: number): Promise<string> => {
  const { call } = createApiCaller(set.replica(0).url, set.keys)
  await waitUntil(
    'every cell is in the plan',
    async () => {
      const { body } = await call('operator', 'GET', '/v1/rampup/plan')
      const stages = (body.stages ?? []) as { cell_ids: string[] }[]
      return stages.flatMap(({ cell_ids }) => cell_ids).length === cells
    },
    500,
  )
  const ask = () => call('operator', 'POST', '/v1/skills/rampup-control', { action: 'start' })
  const { body: asked } = await ask()
  await call('approver_a', 'POST', `/v1/gates/requests/${asked.request_id}/approve`, {})
  const { status, body } = await ask()
  if (status !== 200) throw new Error(`the ramp-up does not start: ${JSON.stringify(body)}`)
  return (body.ramp_up as { ramp_up_id: string }).ramp_up_id
}

const readRampUp = async ({ ledger }: Pick<Store, 'ledger'>, id: string): Promise<RampUp> => {
  const query = ledger.read.selectFrom('ramp_ups').selectAll().where('id', '=', id)
  return rampUpTable.read(await query.executeTakeFirstOrThrow())
}

/** The process goes on in the middle of what it did, while the other one has the ramp-up. */
const pauseAndContinue = async (set: ReplicaSet, index: number): Promise<void> => {
  const { pid } = set.replica(index).process
  process.kill(pid, 'SIGSTOP')
  await sleep(PAUSE_MS)
  process.kill(pid, 'SIGCONT')
}

/** Compares a ramp-up that has ended with what was written. */
const judge = async (
  { ledger }: Store,
  id: string,
  expected: { state: string; writesPerCell: number; seconds: number },
): Promise<string[]> => {
  const { state, reason, plan, createdAt } = await readRampUp({ ledger }, id)
  const faults: string[] = []
  if (state !== expected.state) faults.push(`${id} is ${state}: ${reason}`)
  const rows = await ledger.read
    .selectFrom('audit')
    .select(['action', 'subject'])
    .where('at', '>=', createdAt)
    .execute()
  const count = (action: string, subject: string): number =>
    rows.filter(row => row.action === action && row.subject === subject).length
  if (count('rampup.end', id) !== 1) faults.push(`${id} has ended ${count('rampup.end', id)} times`)
  const documents = await readCellConfigs(ledger.read, plan.stages.flat())
  for (const cell of plan.stages.flat()) {
    const writes = count('cell.configure', cell)
    if (writes !== expected.writesPerCell) faults.push(`${cell} was set ${writes} times`)
    const { document } = documents.get(cell) ?? {}
    if (!isDeepStrictEqual(document, documentOf(expected.seconds)))
      faults.push(`${cell} has ${JSON.stringify(document)}`)
  }
  return faults
}
