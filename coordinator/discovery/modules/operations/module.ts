import * as z from 'zod'
import { type DiscoveryModule, isScan } from '../../../../discovery/module.ts'
import { DISCOVERY_MODULES } from '../../../../discovery/modules.ts'
import { CellRef } from '../../../fleet/cells/cell-field.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineOperation, type Operation } from '../../../kernel/declaration/operation.ts'
import type { DiscoveryViews } from '../../entities/open.ts'
import { createAnswer, readLastResult, runModule } from './module-answer.ts'

/** Time beside that of a run: to reach the cells, and to merge what they found. */
export const EXTRA_SECONDS = 30

const CELL = {
  cell: CellRef.exactOptional().describe(
    'Cell to run on; every connected cell that can when it is absent.',
  ),
}
const LAST_CELL = {
  cell: CellRef.exactOptional().describe('Cell whose result is read; all cells when it is absent.'),
}

type ModuleOperation = Operation<Context & DiscoveryViews>

/** Facts that the operations of a module share with its skill. */
export const describeModule = (module: DiscoveryModule) => ({
  access: module.access,
  effect: 'read' as const,
  output: createAnswer(module),
})

/** Runs a module, as a tool with the cell in its input. */
const createRunOperation = (module: DiscoveryModule): ModuleOperation =>
  defineOperation({
    ...describeModule(module),
    id: `module-${module.id}-run`,
    description: `Run the module ${module.id}. ${module.description}`,
    method: 'POST',
    path: `/v1/modules/${module.id}/run`,
    openWorld: module.reach !== 'host',
    mode: 'stream',
    timeoutSeconds: module.deadlineSeconds + EXTRA_SECONDS,
    cli: { group: 'modules', verb: `run ${module.id}` },
    input: isScan(module) ? module.input.extend(CELL) : module.input,
    examples: module.examples,
    run: ({ cell: cellId, ...input }: { cell?: string }, context: Context & DiscoveryViews) =>
      runModule(module, input, { ...context, cellId }) as never,
  })

/**
 * Reads the last result of a module, whoever asked for it. It shows what somebody asked, perhaps of
 * another tenant: a place, a domain, the programs of a machine.
 */
const createLastOperation = (module: DiscoveryModule): ModuleOperation =>
  defineOperation({
    ...describeModule(module),
    access: 'operator',
    id: `module-${module.id}-last`,
    description: `Show the last result of the module ${module.id}, without running it.`,
    method: 'GET',
    path: `/v1/modules/${module.id}/last`,
    cli: { group: 'modules', verb: `last ${module.id}` },
    input: z.strictObject(isScan(module) ? LAST_CELL : {}),
    run: ({ cell: cellId }: { cell?: string }, context: Context & DiscoveryViews) =>
      readLastResult(module, { ...context, cellId }) as never,
  })

/** The two operations of a module. */
export const createModuleOperations = (module: DiscoveryModule): ModuleOperation[] => [
  createRunOperation(module),
  createLastOperation(module),
]

/** Every module: one operation runs it, and one reads its last result. */
export default DISCOVERY_MODULES.flatMap(createModuleOperations)
