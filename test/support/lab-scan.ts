import { loadRun } from '../../discovery/load.ts'
import { DISCOVERY_MODULES } from '../../discovery/modules.ts'
import type { ScanContext, ScanRun } from '../../discovery/scan-run.ts'

/** Runs a module on a machine of a lab and prints its rows and warnings as JSON lines. */
const [, , id, text = '{}'] = process.argv
const {
  input = {},
  scope = [],
  config,
} = JSON.parse(text) as {
  input?: object
  scope?: string[]
  config?: unknown
}
const module = DISCOVERY_MODULES.find(each => each.id === id)
if (module === undefined) throw new Error(`no module ${id}`)
const run = await loadRun<ScanRun<never, object>>(module)
if (run === undefined) throw new Error(`no program of ${id}`)
const print = (line: object): void => {
  process.stdout.write(`${JSON.stringify(line)}\n`)
}
const context: ScanContext = {
  signal: new AbortController().signal,
  report: () => {},
  scope: { entries: scope.map(target => ({ target })) },
  config,
  warn: (code, message) => print({ warning: code, message }),
}
for await (const row of run(module.input.parse(input) as never, context)) print({ row })
