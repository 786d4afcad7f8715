import t from 'tap'
import wirelessFull from '../../../../coordinator/discovery/entities/operations/wireless-full.ts'
import type { CellResult } from '../../../../coordinator/discovery/modules/module-result.ts'
import { ShoalError } from '../../../../shared/errors.ts'

const resultOf = (cellId: string, more: Partial<CellResult>): CellResult => ({
  ...{ cellId, available: true, reason: null, takenAt: 0, elapsedMs: 5, warnings: [], rows: [] },
  ...more,
})

type Use = (results: readonly CellResult[]) => unknown
type Run = (input: object, context: object) => Promise<Record<string, unknown>>

/** Runs the skill with these results of the modules; a module that is an error fails. */
const runWith = async (results: Record<string, readonly CellResult[] | Error>) => {
  const started: string[] = []
  const all = Promise.withResolvers<void>()
  const run = async (module: { id: string }, _input: object, _caller: object, use: Use) => {
    started.push(module.id)
    if (started.length === 3) all.resolve()
    // none ends before all have begun
    await all.promise
    const result = results[module.id]
    if (result instanceof Error) throw result
    return use(result ?? [])
  }
  const context = {
    ...{ moduleRuns: { run }, signal: new AbortController().signal },
    ...{ progress: async () => {}, cellId: undefined },
  }
  return (wirelessFull.run as unknown as Run)({}, context)
}

t.test('wireless-full runs three scans in parallel, each with its availability', async t => {
  const answer = await runWith({
    'wifi-scan': [
      resultOf('a', { rows: [{ ssid: 'lab' }] }),
      resultOf('b', { available: false, reason: 'no Wi-Fi adapter' }),
    ],
    'mdns-scan': [resultOf('a', {})],
    'ble-scan': [resultOf('a', { available: false, reason: 'no Bluetooth adapter' })],
  })
  t.match(answer, {
    data_state: 'partial',
    unknown: [
      { field: 'wifi.findings', reason: /cell b: no Wi-Fi adapter/ },
      { field: 'ble.findings', reason: /no Bluetooth adapter/ },
    ],
    wifi: {
      ...{ available: true, reason: null, findings: [{ cell_id: 'a', ssid: 'lab' }] },
      cells: [{ available: true }, { cell_id: 'b', reason: 'no Wi-Fi adapter' }],
    },
    mdns: { available: true, data_state: 'empty' },
    ble: { available: false, reason: 'no Bluetooth adapter', findings: [] },
  })
})

t.test('a scan that fails costs no other, and all that fail are an error', async t => {
  const failure = new ShoalError('cell_unavailable', 'no connected cell can run it')
  const answer = await runWith({ 'ble-scan': failure })
  t.match(answer, { ble: { available: false, reason: failure.message }, wifi: { cells: [] } })
  const all = { 'wifi-scan': failure, 'mdns-scan': failure, 'ble-scan': failure }
  await t.rejects(runWith(all), { code: 'cell_unavailable' })
})
