import * as z from 'zod'
import { isScan } from '../../../../../discovery/module.ts'
import { DISCOVERY_MODULES } from '../../../../../discovery/modules.ts'
import type { ControlViews } from '../../../../fleet/control/open.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import { AutoRunView, listAutoRun } from './discovery-document.ts'

const SCHEDULED = DISCOVERY_MODULES.filter(isScan).flatMap(({ id, reach, autoRun }) =>
  autoRun === undefined ? [] : [{ module: id, reach, ...autoRun }],
)

export default defineOperation({
  id: 'discovery-auto-run-show',
  description:
    'Show where scheduled runs of modules are on or off, and the modules that cells then run. Scheduled runs are off by default.',
  method: 'GET',
  path: '/v1/discovery/auto-run',
  access: 'operator',
  effect: 'read',
  tool: false,
  cli: { group: 'discover', verb: 'auto-run show' },
  input: z.strictObject({}),
  output: z.object({
    settings: z.array(AutoRunView),
    modules: z.array(
      z.object({
        module: z.string(),
        every_s: z.int().describe('Interval of its runs, in seconds, give or take a tenth.'),
        needs_scope: z.boolean().describe('True for a module that runs only where a scope is set.'),
      }),
    ),
  }),
  run: (_input, { configs }: ControlViews) => ({
    settings: configs.list().flatMap(listAutoRun),
    modules: SCHEDULED.map(({ module, reach, everySeconds, isPassive }) => ({
      module,
      every_s: everySeconds,
      needs_scope: reach === 'lan' && !isPassive,
    })),
  }),
})
