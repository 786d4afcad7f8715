import { readFile, statfs } from 'node:fs/promises'
import type { HostSample } from '../../shared/wire/telemetry.ts'
import { patient } from '../patience.ts'
import {
  type CpuTicks,
  cpuPercent,
  type NetworkCounters,
  networkRates,
  parseCpu,
  parseMemory,
  parseNetwork,
} from './proc.ts'

export interface HostOptions {
  /** The file system of this folder is measured. */
  stateDir: string
  /** Usually /proc. */
  procFolder?: string
  /** Milliseconds of a clock that never goes back. */
  now?: () => number
}

/** A file system of a server that is gone does not answer. */
const DISK_TIMEOUT_MS = 1000

/** Load of the machine. Rates are unknown in the first sample, because they need two readings. */
export const hostSampler = (options: HostOptions): { sample(): Promise<HostSample> } => {
  const { stateDir, procFolder = '/proc', now = () => performance.now() } = options
  const disk = patient(() => statfs(stateDir).catch(() => null), DISK_TIMEOUT_MS)
  const read = (name: string) => readFile(`${procFolder}/${name}`, 'utf8').catch(() => '')
  let cpu: CpuTicks | null = null
  let network: { counters: NetworkCounters; at: number } | null = null

  return {
    sample: async () => {
      const [stat, meminfo, dev, space] = await Promise.all([
        read('stat'),
        read('meminfo'),
        read('net/dev'),
        disk(),
      ])
      const before = { cpu, network }
      cpu = parseCpu(stat)
      network = { counters: parseNetwork(dev), at: now() }
      const rates = networkRates(
        before.network?.counters ?? null,
        network.counters,
        network.at - (before.network?.at ?? 0),
      )
      const memory = parseMemory(meminfo)
      return {
        cpu_percent: cpuPercent(before.cpu, cpu),
        memory_total_bytes: memory.total,
        memory_used_bytes: memory.used,
        disk_total_bytes: space && space.blocks * space.bsize,
        disk_used_bytes: space && (space.blocks - space.bfree) * space.bsize,
        network_received_bytes_per_second: rates.received,
        network_sent_bytes_per_second: rates.sent,
      }
    },
  }
}
