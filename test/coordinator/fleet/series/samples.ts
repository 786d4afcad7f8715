import type { EngineReport, GpuSample, Sample } from '../../../../shared/wire/telemetry.ts'

/** A GPU of 100 bytes, so that bytes are percent. */
export const gpu = (used: number | null, other: Partial<GpuSample> = {}): GpuSample => ({
  index: 0,
  id: 'gpu',
  utilization_percent: null,
  vram_total_bytes: 100,
  vram_used_bytes: used,
  temperature_celsius: null,
  power_watts: null,
  clock_mhz: null,
  unified_memory: false,
  ...other,
})

export const engine = (slotsBusy: number, other: Partial<EngineReport> = {}): EngineReport => ({
  weights: 'w',
  kind: 'chat',
  models: ['m'],
  state: 'ready',
  slots: 4,
  slots_busy: slotsBusy,
  queued: 0,
  context_length: 2048,
  restarts: 0,
  ...other,
})

export const sampleOf = (takenAt: number, other: Partial<Sample> = {}): Sample => ({
  taken_at: takenAt,
  host: {
    cpu_percent: null,
    memory_total_bytes: null,
    memory_used_bytes: null,
    disk_total_bytes: null,
    disk_used_bytes: null,
    network_received_bytes_per_second: null,
    network_sent_bytes_per_second: null,
  },
  gpus: [],
  engines: [],
  spool_dropped: 0,
  ...other,
})
