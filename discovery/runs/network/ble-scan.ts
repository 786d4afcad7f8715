import * as z from 'zod'
import type { BleRow } from '../../modules/network/ble-scan.ts'
import type { ScanRun } from '../../scan-run.ts'
import { HeardDevices } from './ble/heard-devices.ts'
import { createNobleBackend } from './ble/noble-backend.ts'

/** `discovery.modules.ble-scan` of a cell. */
export const config = z.strictObject({
  uart: z
    .strictObject({
      port: z.string().min(1).max(256).describe('Serial port: `/dev/ttyAMA0`.'),
      baud_rate: z.int().min(1200).max(4_000_000).default(1_000_000),
    })
    .exactOptional()
    .describe('Controller behind a serial port, instead of the adapter of the system.'),
  is_simulated: z.boolean().default(false).describe('True for findings of an emulated controller.'),
})

const run: ScanRun<{ timeout: number }, z.infer<typeof BleRow>> = async function* (
  { timeout },
  { signal, config: given, warn, report },
) {
  const { uart, is_simulated } = config.parse(given ?? {})
  const full = new AbortController()
  const heard = new HeardDevices(() => full.abort())
  const backend = createNobleBackend(uart && { port: uart.port, baudRate: uart.baud_rate })
  report({ done: 0, total: timeout })
  const limits = { timeoutMs: timeout * 1000, signal: AbortSignal.any([signal, full.signal]) }
  await backend.listen(each => heard.hear(each), limits)
  signal.throwIfAborted()
  if (heard.leftOut > 0)
    warn('partial_result', `${heard.leftOut} or more further devices were skipped`)
  for (const device of heard.devices) yield device.toRow(is_simulated)
}

export default run
