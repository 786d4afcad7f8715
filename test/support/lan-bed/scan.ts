import { runModule } from '../../../daemon/discovery/run-module.ts'
import { createSpawner } from '../../../daemon/helper/helper-child.ts'
import { Helpers } from '../../../daemon/helper/helpers.ts'
import type { ScanItem } from '../../../shared/wire/findings.ts'
import type { ScanOrder, ScanReport } from './lan-bed.ts'

/** Runs modules as a cell does, in a helper process, and writes a `ScanReport` of each. */
const orders = JSON.parse(process.argv[2] ?? '[]') as ScanOrder[]
const helpers = new Helpers({ spawn: createSpawner(process.env) })

const scan = async ({ module, input, scope, config = {} }: ScanOrder): Promise<ScanReport> => {
  const parts = {
    helpers,
    config: { enabled: true, modules: { [module]: config as Record<string, never> } },
    scope: { read: () => ({ entries: scope.map(target => ({ target })) }) },
  }
  const report: ScanReport = { rows: [], warnings: [], elapsedMs: 0 }
  const startedAt = performance.now()
  const events = runModule(parts, module, input ?? {}, new AbortController().signal)
  for await (const event of events) {
    if (event.type !== 'item') continue
    const item = event.value as ScanItem
    if (item.type === 'row') report.rows.push(item.row)
    if (item.type === 'warning') report.warnings.push(item.message)
    if (item.type === 'unavailable') report.warnings.push(item.reason)
  }
  report.elapsedMs = Math.round(performance.now() - startedAt)
  return report
}

const reports: ScanReport[] = []
for (const order of orders) reports.push(await scan(order))
helpers.stop()
process.stdout.write(`${JSON.stringify(reports)}\n`)
process.exit(0)
