import { readFile, statfs } from 'node:fs/promises'
import type { HostSample } from '../../shared/wire/telemetry.ts'
import { patient } from '../patience.ts'
import {
  type CpuTicks,
  computeCpuPercent,
  computeNetworkRates,
  type NetworkCounters,
  parseCpu,
  parseMemory,
  parseNetwork,
} from './proc.ts'

interface HostOptions {
  /** Folder whose file system is measured. */
  stateDir: string
  /** `/proc` by default. */
  procFolder?: string
  /** Monotonic clock, in milliseconds. */
  now?: () => number
}

/** Limit for a network file system whose server does not answer. */
const DISK_TIMEOUT_MS = 1000

/**
 * Samples the load of the machine. Rates are null in the first sample, since they need two
 * readings.
 */
export const createHostSampler = (options: HostOptions): { sample(): Promise<HostSample> } => {
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
      const rates = computeNetworkRates(
        before.network?.counters ?? null,
        network.counters,
        network.at - (before.network?.at ?? 0),
      )
      const memory = parseMemory(meminfo)
      return {
        cpu_percent: computeCpuPercent(before.cpu, cpu),
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
