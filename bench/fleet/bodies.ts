import { VERSION } from '../../shared/version.ts'
import type { Announce } from '../../shared/wire/announce.ts'
import type { EngineReport, Sample } from '../../shared/wire/telemetry.ts'

const GIB = 1024 ** 3

/** A machine with two GPUs and its engines, as a daemon announces it. */
export const announce = (name: string, engines: EngineReport[] = [engine()]): Announce => ({
  name,
  version: VERSION,
  protocol: 1,
  host: {
    hostname: name,
    os: 'Debian GNU/Linux 12',
    kernel: '6.1.0',
    arch: 'x64',
    cpu_model: 'simulated',
    cpu_count: 32,
    memory_total_bytes: 128 * GIB,
  },
  gpus: [0, 1].map(index => ({
    index,
    id: `GPU-${name}-${index}`,
    name: 'simulated',
    vendor: 'nvidia' as const,
    driver: '550.54',
    vram_total_bytes: 24 * GIB,
    unified_memory: false,
  })),
  engines,
  tags: ['bench'],
})

/** Telemetry body that a cell sends every few seconds. */
export const sample = (takenAt: number, engines: EngineReport[] = [engine()]): Sample => ({
  taken_at: takenAt,
  host: {
    cpu_percent: 12.5,
    memory_total_bytes: 128 * GIB,
    memory_used_bytes: 40 * GIB,
    disk_total_bytes: 1000 * GIB,
    disk_used_bytes: 400 * GIB,
    network_received_bytes_per_second: 120_000,
    network_sent_bytes_per_second: 60_000,
  },
  gpus: [0, 1].map(index => ({
    index,
    id: `GPU-${index}`,
    utilization_percent: 35 + Math.round(Math.random() * 30),
    vram_total_bytes: 24 * GIB,
    vram_used_bytes: 15 * GIB,
    temperature_celsius: 61,
    power_watts: 180,
    clock_mhz: 1500,
    unified_memory: false,
  })),
  engines,
  spool_dropped: 0,
})

const engine = (): EngineReport => ({
  weights: 'simulated.gguf',
  kind: 'chat' as const,
  models: ['model-a:7b'],
  state: 'ready' as const,
  slots: 8,
  slots_busy: 3,
  queued: 0,
  context_length: 8192,
  restarts: 0,
})
