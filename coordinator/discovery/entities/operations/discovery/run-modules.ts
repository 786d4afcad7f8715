import * as z from 'zod'
import { type DiscoveryModule, isScan } from '../../../../../discovery/module.ts'
import { DISCOVERY_MODULES } from '../../../../../discovery/modules.ts'
import { ShoalError } from '../../../../../shared/errors.ts'
import { createUnknownError } from '../../../../../shared/reference-errors.ts'
import type { Context } from '../../../../kernel/declaration/context.ts'
import { runModule } from '../../../modules/operations/module-answer.ts'
import type { DiscoveryViews } from '../../open.ts'

/** How one of several modules did. */
export const ModuleOutcome = z.object({
  module: z.string(),
  outcome: z
    .enum(['complete', 'unavailable', 'failed'])
    .describe('`unavailable` when no cell could run it.'),
  findings: z.int().nullable().describe('Rows found; null for a lookup and after a failure.'),
  cells: z.int().nullable().describe('Cells that ran it; null for a lookup and after a failure.'),
  reason: z.string().nullable().describe('Why it is unavailable on the first cell, or failed.'),
  warnings: z.array(z.string()).describe('What limited it on the cells, such as the scope.'),
})
export type ModuleOutcome = z.infer<typeof ModuleOutcome>

/** @throws ShoalError not_found, which names the modules */
export const findModule = (id: string): DiscoveryModule => {
  const found = DISCOVERY_MODULES.find(module => module.id === id)
  if (found !== undefined) return found
  const candidates = DISCOVERY_MODULES.map(module => module.id).join(', ')
  throw createUnknownError('module', id, { candidates })
}

/** Input of a module that nobody gave one: its defaults. @throws ShoalError invalid_request */
export const readDefaultInput = ({ id, input }: DiscoveryModule): object => {
  const parsed = input.safeParse({})
  if (parsed.success) return parsed.data
  const missing = parsed.error.issues.map(({ path }) => path.join('.')).join(', ')
  throw new ShoalError('invalid_request', `${id} needs ${missing}; call the skill ${id} with it`, {
    param: missing,
  })
}

/** Rows that a module found, as the answer of its scan has them. */
export interface ModuleRows {
  module: string
  rows: readonly object[]
}

/**
 * Runs modules one after the other with their defaults; one that fails does not stop the others.
 * The rows of each scan are passed to `note`.
 */
export const runModules = async (
  modules: readonly DiscoveryModule[],
  context: Context & DiscoveryViews,
  note: (found: ModuleRows) => void = () => {},
): Promise<ModuleOutcome[]> => {
  const outcomes: ModuleOutcome[] = []
  for (const [done, module] of modules.entries()) {
    context.signal.throwIfAborted()
    await context.progress({ done, total: modules.length, message: module.id })
    outcomes.push(await tryModule(module, context, undefined, note))
  }
  return outcomes
}

/** Answer of a scan, without the types of its rows. */
interface ScanAnswer {
  findings: readonly object[]
  cells: readonly {
    available: boolean
    reason: string | null
    warnings: readonly { message: string }[]
  }[]
}

const MAX_WARNINGS = 16

const describeFailure = (error: unknown, { signal }: Pick<Context, 'signal'>): string => {
  if (signal.aborted) return 'it did not end in time'
  return error instanceof ShoalError ? error.message : 'it failed; see the log'
}

/** Runs one module, with its defaults unless given an input, and says how it went. */
export const tryModule = async (
  module: DiscoveryModule,
  context: Context & DiscoveryViews,
  input?: object,
  note: (found: ModuleRows) => void = () => {},
): Promise<ModuleOutcome> => {
  try {
    const answer = await runModule(module, input ?? readDefaultInput(module), context)
    if (!isScan(module)) return { ...NOTHING, module: module.id, outcome: 'complete' }
    const { findings, cells } = answer as ScanAnswer
    note({ module: module.id, rows: findings })
    const able = cells.filter(({ available }) => available).length
    return {
      module: module.id,
      outcome: able > 0 ? 'complete' : 'unavailable',
      findings: findings.length,
      cells: able,
      reason: able > 0 ? null : (cells[0]?.reason ?? null),
      warnings: listWarnings(cells),
    }
  } catch (error) {
    const reason = describeFailure(error, context)
    return { ...NOTHING, module: module.id, outcome: 'failed', reason }
  }
}

const NOTHING = { findings: null, cells: null, reason: null, warnings: [] }

/** Warnings of all cells, each once. */
const listWarnings = (cells: ScanAnswer['cells']): string[] => {
  const messages = cells.flatMap(({ warnings }) => warnings.map(({ message }) => message))
  return [...new Set(messages)].slice(0, MAX_WARNINGS)
}
