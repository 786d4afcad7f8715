import { scanItems } from '../../daemon/helper/child/scan-items.ts'
import { loadRun } from '../../discovery/load.ts'
import type { ScanModule } from '../../discovery/module.ts'
import { ALL_MODULES } from '../../discovery/modules.ts'
import type { ScanRun } from '../../discovery/scan-run.ts'
import { listOpenResources } from './open-resources.ts'

/**
 * Runs a module on a machine of a lab, as a helper process does, and prints its rows and warnings as
 * JSON lines, and at last the
 * time that it took and the resources that it left open.
 */
const [, , id, text = '{}'] = process.argv
const {
  input = {},
  scope = [],
  config,
  deadlineSeconds,
} = JSON.parse(text) as {
  input?: object
  scope?: string[]
  config?: unknown
  /** Deadline in place of that of the module. */
  deadlineSeconds?: number
}
const module = ALL_MODULES.find(each => each.id === id) as ScanModule | undefined
if (module === undefined) throw new Error(`no module ${id}`)
const run = await loadRun<ScanRun>(module as never)
if (run === undefined) throw new Error(`no program of ${id}`)
const print = (line: object): void => {
  process.stdout.write(`${JSON.stringify(line)}\n`)
}
const scan = {
  module: { row: module.row, deadlineSeconds: deadlineSeconds ?? module.deadlineSeconds },
  run,
}
const context = {
  signal: new AbortController().signal,
  report: () => {},
  scope: { entries: scope.map(target => ({ target })) },
  config,
}
const startedAt = performance.now()
for await (const item of scanItems(scan, module.input.parse(input) as never, context))
  if (item.type === 'row') print({ row: item.row })
  else if (item.type === 'warning') print({ warning: item.code, message: item.message })
  else print({ unavailable: item.reason })
const elapsedMs = Math.round(performance.now() - startedAt)
print({ left: await listOpenResources(), elapsedMs })
