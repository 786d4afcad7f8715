import { exitCode, ShoalError } from '../../shared/errors.ts'
import { type DeviceList, type ListedDevice, readDeviceList } from '../devices/device-list-file.ts'
import { LIST_EVERY_MS } from '../services/device-list.ts'
import type { DaemonCommand } from './command.ts'
import { requireNoWords, takeFlags } from './flags.ts'
import { readSettings } from './settings.ts'

export const DEVICES_HELP = {
  usage: 'shoald devices [--format json]',
  summary: 'Lists the devices of this cell, also without the coordinator.',
  flags: ['--format text|json   how to print; the exit code is 69 when the daemon does not run'],
}

/** Age from which a list is that of a daemon that no longer runs. */
const MAX_LIST_AGE_MS = 3 * LIST_EVERY_MS

/** Prints what the running daemon has listed. Code 0 when it runs, else 69. */
export const devicesCommand: DaemonCommand = async context => {
  const { values, words, rest } = takeFlags(context.argv, ['format'], [])
  requireNoWords({ words }, DEVICES_HELP.usage)
  const { format = 'text' } = values
  if (format !== 'text' && format !== 'json')
    throw new ShoalError('wrong_usage', `--format must be text or json, not ${format}`)
  const { config } = readSettings(context, rest)
  const list = await readDeviceList(config.state_dir)
  const now = Date.now()
  const isRunning = list !== undefined && now - list.written_at < MAX_LIST_AGE_MS
  if (format === 'json') context.write(`${JSON.stringify({ is_running: isRunning, ...list })}\n`)
  else context.write(describeList(list, { isRunning, now, stateDir: config.state_dir }))
  return isRunning ? 0 : exitCode('cell_unavailable')
}

const describeList = (
  { devices, written_at }: DeviceList = { devices: [], written_at: 0 },
  { isRunning, now, stateDir }: { isRunning: boolean; now: number; stateDir: string },
): string => {
  const at = new Date(written_at).toISOString()
  const older = written_at === 0 ? '' : ` This was its list at ${at}:`
  const rows = [
    ['NAME', 'DEVICE', 'PROFILE', 'SITE', 'SEEN', 'STATE'],
    ...devices.map(device => toRow(device, now)),
  ]
  return [
    ...(isRunning ? [] : [`No daemon runs with the state folder ${stateDir}.${older}`]),
    ...(devices.length > 0
      ? alignRows(rows)
      : isRunning
        ? ['This cell has no devices.']
        : [NO_LIST]),
    '',
  ].join('\n')
}

const NO_LIST = '--state-dir names the folder of another daemon.'

const toRow = (device: ListedDevice, now: number): string[] => {
  const { name, device_id, profile, site, seen_at, available, writable, reason } = device
  const seen =
    seen_at === null ? 'never' : `${Math.max(0, Math.round((now - seen_at) / 1000))} s ago`
  const state = available ? (writable ? 'available' : 'read-only') : 'not available'
  return [name, device_id, profile, site ?? '-', seen, reason ? `${state}: ${reason}` : state]
}

const alignRows = (rows: readonly string[][]): string[] => {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map(row => row[column]?.length ?? 0)),
  )
  return rows.map(row =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}
