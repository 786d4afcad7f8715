import * as z from 'zod'
import { engineReports } from '../../fleet/cell.ts'
import { diagnose, worstResult } from '../../fleet/diagnosis.ts'
import { isPresent } from '../../fleet/presence.ts'
import type { Context } from '../../operations/context.ts'
import { defineSkill } from '../skill.ts'

const Result = z.enum(['pass', 'warn', 'fail', 'unknown'])

export default defineSkill({
  id: 'self-diagnose',
  name: 'Self-diagnosis',
  description: 'Diagnose the coordinator and its fleet, and recommend a remedy for each problem.',
  tags: ['fleet', 'operations', 'health'],
  access: 'operator',
  effect: 'read',
  input: z.strictObject({}),
  output: z.object({
    result: Result.describe('Worst result of all checks.'),
    checks: z.array(
      z.object({
        id: z.string(),
        title: z.string(),
        result: Result,
        observed: z.string(),
        remedy: z.string().nullable(),
      }),
    ),
  }),
  run: async (_input, context) => {
    const checks = diagnose(await observe(context))
    return {
      result: worstResult(checks.map(({ result }) => result)),
      checks: checks.map(check => ({ ...check, remedy: check.remedy ?? null })),
    }
  },
})

const observe = async ({ fleet, cells, catalogue, monitor, vitals, replicas }: Context) => ({
  storeProblem: vitals.storeProblem(),
  // A file system that does not answer is a finding, not a failure of the diagnosis.
  disk: await vitals.disk().catch(() => undefined),
  loopDelayMs: vitals.loopDelayMs(),
  brokerConnected: vitals.brokerConnected(),
  cells: [...fleet.cells()].map(({ id, presence, link, clockAheadMs }) => ({
    id,
    presence,
    linked: link !== undefined,
    clockAheadMs,
  })),
  models: catalogue.map(({ id }) => ({
    id,
    served: fleet.serves(id),
    drainedOn: listDrainedCells(fleet, id),
  })),
  alerts: monitor.alerts().filter(({ clearedAt }) => clearedAt === undefined),
  quarantined: (await cells.list())
    .filter(cell => cell.quarantinedAt !== undefined && cell.revokedAt === undefined)
    .map(({ id }) => id),
  replicas: await replicas.readStates(),
})

/** Cells that offer the model, but take no requests until an operator resumes them. */
const listDrainedCells = (fleet: Context['fleet'], model: string): string[] =>
  [...fleet.cells()]
    .filter(cell => cell.drained && isPresent(cell.presence))
    .filter(cell => engineReports(cell).some(({ models }) => models.includes(model)))
    .map(({ id }) => id)
