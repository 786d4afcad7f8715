import { NotPossibleHere } from '../../../scan-run.ts'
import { NMCLI_BANDWIDTH, NMCLI_FIELDS, readNmcliLine } from './read-nmcli.ts'
import { type ProgramResult, runProgram } from './run-program.ts'
import type { WifiNetwork } from './wifi-network.ts'

export interface WifiScan {
  networks: WifiNetwork[]
  /** Lines that could not be read. */
  unread: number
  /** Why the list is not that of a new scan. */
  lack: string | undefined
}

export const CACHED = 'a new scan was refused: these are the networks of the last one'

/** Exit status of nmcli for a field that it does not know, and when NetworkManager does not run. */
const INVALID = 2
const NOT_RUNNING = 8

const list = (
  signal: AbortSignal,
  fields: readonly string[],
  rescan: 'yes' | 'no',
): Promise<ProgramResult | undefined> => {
  const form = ['--terse', '--escape', 'yes', '--fields', fields.join(',')]
  return runProgram('nmcli', [...form, 'device', 'wifi', 'list', '--rescan', rescan], signal)
}

/**
 * Scans by NetworkManager; undefined when it is not there. A scan that is refused, because the last
 * one was a moment ago or a policy forbids it, gives the list of the last one.
 * @throws NotPossibleHere without an adapter
 */
export const scanByNmcli = async (signal: AbortSignal): Promise<WifiScan | undefined> => {
  let fields: readonly string[] = [...NMCLI_FIELDS, NMCLI_BANDWIDTH]
  let result = await list(signal, fields, 'yes')
  if (result?.status === INVALID) {
    fields = NMCLI_FIELDS
    result = await list(signal, fields, 'yes')
  }
  if (result === undefined || result.status === NOT_RUNNING) return undefined
  const isCached = result.status !== 0
  if (isCached) result = await list(signal, fields, 'no')
  if (result === undefined || result.status !== 0)
    throw new NotPossibleHere(`nmcli failed: ${result?.stderr.trim() || 'no reason given'}`)
  const lines = result.stdout.split('\n').filter(line => line !== '')
  if (lines.length === 0) await requireAdapter(signal)
  const networks = lines.flatMap(line => readNmcliLine(line, isCached) ?? [])
  const lack = isCached ? CACHED : undefined
  return { networks, unread: lines.length - networks.length, lack }
}

/** An empty list is the answer of a machine without an adapter, too. */
const requireAdapter = async (signal: AbortSignal): Promise<void> => {
  const words = ['--terse', '--fields', 'TYPE,STATE', 'device', 'status']
  const result = await runProgram('nmcli', words, signal)
  const adapters = result?.stdout.split('\n').filter(line => line.startsWith('wifi:')) ?? []
  if (adapters.length === 0) throw new NotPossibleHere('this machine has no Wi-Fi adapter')
  if (adapters.every(line => /:(unavailable|unmanaged)/.test(line)))
    throw new NotPossibleHere(
      'the Wi-Fi adapter is switched off or not managed: nmcli radio wifi on',
    )
}
