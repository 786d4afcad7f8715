import { monitorEventLoopDelay } from 'node:perf_hooks'
import { runModule } from '../../../daemon/discovery/run-module.ts'
import { createSpawner } from '../../../daemon/helper/helper-child.ts'
import { Helpers } from '../../../daemon/helper/helpers.ts'
import type { ScanItem } from '../../../shared/wire/findings.ts'
import type { ScanOrder, ScanReport } from './lan-bed.ts'

/** Runs a module as a cell does, in a helper process, and writes a `ScanReport`. */
const order = JSON.parse(process.argv[2] ?? '{}') as ScanOrder

const helpers = new Helpers({ spawn: createSpawner(process.env) })
const controller = new AbortController()
const parts = {
  helpers,
  config: { enabled: true, modules: {} },
  scope: { read: () => ({ entries: order.scope.map(target => ({ target })) }) },
}
const report: ScanReport = { rows: [], warnings: [], elapsedMs: 0, loopDelayMaxMs: 0 }

// the process starts with the first call, which is not part of a scan
for await (const _ of runModule(parts, 'network-map', {}, controller.signal));

const delay = monitorEventLoopDelay({ resolution: 2 })
delay.enable()
const startedAt = performance.now()
try {
  const events = runModule(parts, order.module, order.input ?? {}, controller.signal)
  for await (const event of events) {
    if (event.type !== 'item') continue
    const item = event.value as ScanItem
    if (item.type === 'row') report.rows.push(item.row)
    if (item.type === 'warning') report.warnings.push(item.message)
    if (item.type === 'unavailable') report.warnings.push(item.reason)
    if (report.rows.length === order.stopAfterRows) controller.abort()
  }
} catch (error) {
  if (!controller.signal.aborted) throw error
}
report.elapsedMs = Math.round(performance.now() - startedAt)
report.loopDelayMaxMs = Math.round(delay.max / 1e6)
helpers.stop()
process.stdout.write(`${JSON.stringify(report)}\n`)
process.exit(0)
