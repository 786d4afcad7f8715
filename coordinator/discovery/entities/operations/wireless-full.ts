import * as z from 'zod'
import type { ScanModule } from '../../../../discovery/module.ts'
import bleScan from '../../../../discovery/modules/network/ble-scan.ts'
import mdnsScan from '../../../../discovery/modules/network/mdns-scan.ts'
import wifiScan from '../../../../discovery/modules/network/wifi-scan.ts'
import { nameUnknown, type UnknownField } from '../../../../shared/unknown-fields.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { DataState, dataState } from '../../../kernel/declaration/data-state.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import { EXTRA_SECONDS } from '../../modules/operations/module.ts'
import { createScanAnswer, toScanAnswer } from '../../modules/operations/module-answer.ts'
import type { DiscoveryViews } from '../open.ts'

const PARTS = { wifi: wifiScan, mdns: mdnsScan, ble: bleScan } as const
type PartName = keyof typeof PARTS
const NAMES = Object.keys(PARTS) as PartName[]

const createPart = (module: ScanModule) =>
  createScanAnswer(module).extend({
    available: z.boolean().describe('False when no cell could run the module.'),
    reason: z.string().nullable().describe('Why no cell could run it.'),
  })

export default defineSkill({
  id: 'wireless-full',
  group: 'discovery',
  name: 'Wireless discovery',
  description: 'Run the Wi-Fi, mDNS and Bluetooth scans in parallel and merge what they find.',
  tags: ['network', 'radio', 'wifi', 'bluetooth', 'mdns'],
  access: 'operator',
  effect: 'read',
  openWorld: true,
  onCell: true,
  mode: 'stream',
  timeoutSeconds: Math.max(...NAMES.map(name => PARTS[name].deadlineSeconds)) + EXTRA_SECONDS,
  input: z.strictObject({}),
  examples: [{}],
  output: z.object({
    data_state: DataState,
    wifi: createPart(wifiScan),
    mdns: createPart(mdnsScan),
    ble: createPart(bleScan),
  }),
  run: async (_input, context: Context & DiscoveryViews) => {
    const results = await Promise.allSettled(NAMES.map(name => runPart(PARTS[name], context)))
    context.signal.throwIfAborted()
    const failed = results.find(result => result.status === 'rejected')
    if (failed !== undefined && results.every(({ status }) => status === 'rejected'))
      throw failed.reason
    const parts = results.map(toPart) as [Part, Part, Part]
    const unknown = parts.flatMap((part, i) =>
      part.unknown.map(each => ({ ...each, field: `${NAMES[i]}.${each.field}` })),
    )
    const [wifi, mdns, ble] = parts
    const found = wifi.findings.length + mdns.findings.length + ble.findings.length
    return { data_state: dataState(found), unknown, wifi, mdns, ble } as never
  },
})

/** Answer of one scan, without the types of its rows. */
interface Part {
  data_state: DataState
  unknown: readonly UnknownField[]
  findings: readonly object[]
  cells: readonly { available: boolean; reason: string | null }[]
  available: boolean
  reason: string | null
}
type Answer = Omit<Part, 'available' | 'reason'>

const runPart = (
  module: ScanModule,
  {
    moduleRuns,
    signal,
    progress,
    cellId,
  }: Pick<Context, 'signal' | 'cellId' | 'progress'> & Pick<DiscoveryViews, 'moduleRuns'>,
): Promise<Answer> => {
  const report = ({ done, total }: { done: number; total?: number }): void =>
    void progress({ done, ...(total !== undefined && { total }), data: { module: module.id } })
  const caller = { cellId, signal, report }
  return moduleRuns.run(module, module.input.parse({}), caller, toScanAnswer) as Promise<Answer>
}

const toPart = (result: PromiseSettledResult<Answer>): Part => {
  if (result.status === 'rejected') {
    const { message } = result.reason as Error
    const unknown = nameUnknown('findings', [message])
    return { ...NOTHING, unknown, available: false, reason: message }
  }
  const { cells } = result.value
  const available = cells.some(cell => cell.available)
  const reason = available ? null : (cells.find(cell => cell.reason !== null)?.reason ?? null)
  return { ...result.value, available, reason }
}

const NOTHING: Answer = { data_state: 'empty', unknown: [], findings: [], cells: [] }
