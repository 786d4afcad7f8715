import * as z from 'zod'
import { type DiscoveryModule, isScan } from '../../../discovery/module.ts'
import { DISCOVERY_MODULES } from '../../../discovery/modules.ts'
import { ShoalError } from '../../../shared/errors.ts'
import type { Context } from '../context.ts'
import { runModule } from '../modules/module-answer.ts'

/** How one of several modules did. */
export const ModuleOutcome = z.object({
  module: z.string(),
  outcome: z.enum(['complete', 'failed']),
  findings: z.int().nullable().describe('Rows found; null for a lookup and after a failure.'),
  cells: z.int().nullable().describe('Cells that ran it; null for a lookup and after a failure.'),
  reason: z.string().nullable(),
})
export type ModuleOutcome = z.infer<typeof ModuleOutcome>

/** @throws ShoalError not_found, which names the modules */
export const findModule = (id: string): DiscoveryModule => {
  const found = DISCOVERY_MODULES.find(module => module.id === id)
  if (found !== undefined) return found
  const ids = DISCOVERY_MODULES.map(module => module.id).join(', ')
  throw new ShoalError('not_found', `no module ${id}; modules are ${ids}`)
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

/** Runs modules one after the other with their defaults; one that fails does not stop the others. */
export const runModules = async (
  modules: readonly DiscoveryModule[],
  context: Context,
): Promise<ModuleOutcome[]> => {
  const outcomes: ModuleOutcome[] = []
  for (const [done, module] of modules.entries()) {
    await context.progress({ done, total: modules.length, message: module.id })
    outcomes.push(await tryModule(module, context))
  }
  return outcomes
}

/** Runs one module with its defaults and says how it went. */
export const tryModule = async (
  module: DiscoveryModule,
  context: Context,
): Promise<ModuleOutcome> => {
  try {
    const answer = await runModule(module, readDefaultInput(module), context)
    const { findings, cells } = answer as { findings?: unknown[]; cells?: { available: boolean }[] }
    return {
      module: module.id,
      outcome: 'complete',
      findings: isScan(module) ? (findings?.length ?? 0) : null,
      cells: isScan(module) ? (cells?.filter(({ available }) => available).length ?? 0) : null,
      reason: null,
    }
  } catch (error) {
    const reason = error instanceof ShoalError ? error.message : 'it failed; see the log'
    return { module: module.id, outcome: 'failed', findings: null, cells: null, reason }
  }
}
