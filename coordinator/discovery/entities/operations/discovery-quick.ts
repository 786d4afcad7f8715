import * as z from 'zod'
import { isScan } from '../../../../discovery/module.ts'
import { DISCOVERY_MODULES } from '../../../../discovery/modules.ts'
import { timeoutSignal } from '../../../../shared/runtime.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { DataState, dataState } from '../../../kernel/declaration/data-state.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import { CONNECT_CELL } from '../../../kernel/declaration/to-load.ts'
import type { DiscoveryViews } from '../open.ts'
import { ModuleOutcome, tryModule } from './discovery/run-modules.ts'

/** Time for all modules together; one that is not ready by then is reported as failed. */
const QUICK_MS = 4500

/** Inputs that leave time for the start of a helper process on a busy cell. */
const QUICK_INPUTS: Readonly<Record<string, object>> = { 'mdns-scan': { timeout: 2 } }

/** Modules that send nothing to other machines. */
const QUICK_MODULES = DISCOVERY_MODULES.filter(
  module => isScan(module) && (module.reach === 'host' || module.autoRun?.isPassive === true),
)

export default defineSkill({
  id: 'discovery-quick',
  group: 'discovery',
  name: 'Quick discovery',
  description:
    'Run the modules that look at the cells themselves or only listen, for five seconds at most.',
  tags: ['discovery', 'scan'],
  access: 'operator',
  effect: 'read',
  onCell: true,
  mode: 'stream',
  timeoutSeconds: 10,
  input: z.strictObject({}),
  examples: [{}],
  output: z.object({ data_state: DataState, modules: z.array(ModuleOutcome) }),
  toLoad: CONNECT_CELL,
  run: async (_input, context: Context & DiscoveryViews) => {
    const signal = AbortSignal.any([context.signal, timeoutSignal(context.runtime, QUICK_MS)])
    const modules = await Promise.all(
      QUICK_MODULES.map(module =>
        tryModule(module, { ...context, signal }, QUICK_INPUTS[module.id]),
      ),
    )
    const findings = modules.reduce((sum, { findings }) => sum + (findings ?? 0), 0)
    return { data_state: dataState(findings), modules }
  },
})
