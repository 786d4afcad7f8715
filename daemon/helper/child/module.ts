import { findModule, loadProgram } from '../../../discovery/load.ts'
import { isScan } from '../../../discovery/module.ts'
import type { ScanRun } from '../../../discovery/scan-run.ts'
import type { ScanItem } from '../../../shared/wire/findings.ts'
import type { ScanScope } from '../../../shared/wire/scan-scope.ts'
import { scanItems } from './scan-items.ts'
import type { HelperFunction } from './served-call.ts'

/** Input of the helper function of a module. */
export interface ModuleOrder {
  input: unknown
  scope: ScanScope
  /** Section `discovery.modules.<id>` of the cell's configuration. */
  config: unknown
}

/** Finds the program of a scan by the id of its module. */
export const findModuleRun = async (id: string): Promise<HelperFunction | undefined> => {
  const module = await findModule(id)
  if (module === undefined || !isScan(module)) return undefined
  const program = await loadProgram<ScanRun>(module)
  if (program === undefined) return undefined
  const scan = { module, run: program.default }
  return ({ input, scope, config }: ModuleOrder, context): AsyncIterable<ScanItem> =>
    scanItems(scan, module.input.parse(input) as never, {
      ...context,
      scope,
      config: program.config?.parse(config ?? {}),
    })
}
