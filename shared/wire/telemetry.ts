import * as z from 'zod'
import { MODEL_KINDS } from '../catalogue.ts'

/** A percentage that may be unknown. Unknown is null, never 0. */
const percent = z.number().min(0).max(100).nullable()
const bytes = z.number().nonnegative().max(Number.MAX_SAFE_INTEGER).nullable()
const quantity = z.number().min(-1e9).max(1e12).nullable()

/** A program that uses a GPU. */
export const GpuProcess = z.object({
  pid: z
    .int()
    .min(0)
    .max(2 ** 31),
  name: z.string().max(128),
  used_bytes: bytes,
})
export type GpuProcess = z.infer<typeof GpuProcess>

export const GpuSample = z.object({
  /** Index assigned by the driver. */
  index: z.int().min(0).max(1023),
  /** Stable identity: the driver's UUID or the PCI address. */
  id: z.string().max(128),
  utilization_percent: percent,
  vram_total_bytes: bytes,
  vram_used_bytes: bytes,
  temperature_celsius: quantity,
  power_watts: quantity,
  clock_mhz: quantity,
  memory_clock_mhz: quantity.exactOptional(),
  /** True where the GPU shares the host's memory, so that it is not counted twice. */
  unified_memory: z.boolean(),
  /**
   * True for a GPU partitioned into instances that are measured separately; absent where that does
   * not apply.
   */
  mig_enabled: z.boolean().exactOptional(),
  /** Processes that use most of its memory; absent when the driver does not report them. */
  processes: z.array(GpuProcess).max(16).exactOptional(),
})
export type GpuSample = z.infer<typeof GpuSample>

export const HostSample = z.object({
  cpu_percent: percent,
  memory_total_bytes: bytes,
  memory_used_bytes: bytes,
  /** File system that holds the daemon's state. */
  disk_total_bytes: bytes,
  disk_used_bytes: bytes,
  /** Sum over all interfaces except loopback. */
  network_received_bytes_per_second: quantity,
  network_sent_bytes_per_second: quantity,
})
export type HostSample = z.infer<typeof HostSample>

export const ModelState = z.enum(['cold', 'loading', 'ready', 'failed'])
export type ModelState = z.infer<typeof ModelState>

/** An engine process: one weights file and the catalogue ids it serves. */
export const EngineReport = z.object({
  weights: z.string().max(256),
  kind: z.enum(MODEL_KINDS),
  /** Catalogue ids such as `model-a:7b`. */
  models: z.array(z.string().max(128)).max(256),
  /** Models of `models` that an operator has added, too, and for which the cell's own file wins. */
  own_models: z.array(z.string().max(128)).max(256).exactOptional(),
  state: ModelState,
  slots: z.int().min(0).max(4096),
  slots_busy: z.int().min(0).max(4096),
  queued: z.int().min(0).max(1_000_000),
  /** Most requests that may wait for a slot; further ones are refused. */
  queue_limit: z.int().min(0).max(1_000_000).exactOptional(),
  /** Most context tokens of one request. */
  context_length: z.int().min(0).max(100_000_000),
  restarts: z.int().nonnegative(),
  /** Reason why it is not ready, in plain words. */
  reason: z.string().max(500).exactOptional(),
  /** True when the cell cannot open the weights: a fact about them, and no fault of the cell. */
  refused: z.boolean().exactOptional(),
  /** Phase of `loading`: `downloading`, `checking` or `loading`; others may be added. */
  phase: z.string().max(32).exactOptional(),
  /** Progress of the current phase. */
  progress_percent: z.number().min(0).max(100).exactOptional(),
  /** Estimated time left, until the phase has ended. */
  remaining_seconds: z.int().nonnegative().exactOptional(),
  /** Bytes downloaded so far, the size of the file, and the mean speed; while it is downloaded. */
  downloaded_bytes: z.number().nonnegative().max(Number.MAX_SAFE_INTEGER).exactOptional(),
  download_total_bytes: z.number().nonnegative().max(Number.MAX_SAFE_INTEGER).exactOptional(),
  download_bytes_per_second: z.number().nonnegative().max(1e12).exactOptional(),
  /** Size of the weights; absent while they are not on the cell's disk, as far as it has looked. */
  file_bytes: z.number().nonnegative().max(Number.MAX_SAFE_INTEGER).exactOptional(),
  /** True when an operator keeps it loaded. */
  pinned: z.boolean().exactOptional(),
  /** Time since its last request ended; only while it is loaded and idle. */
  idle_seconds: z.int().nonnegative().exactOptional(),
  /** Estimated memory in use, or needed once loaded. */
  memory_bytes: z.number().nonnegative().max(Number.MAX_SAFE_INTEGER).exactOptional(),
  /** Share of memory in use above which the cell loads nothing; 95 when absent. */
  memory_limit_percent: z.number().min(0).max(100).exactOptional(),
})
export type EngineReport = z.infer<typeof EngineReport>

export const Sample = z.object({
  /** Unix time in milliseconds, by the cell's clock. */
  taken_at: z.int().nonnegative(),
  host: HostSample,
  gpus: z.array(GpuSample).max(256),
  /** Reason why the GPUs could not be sampled; absent when they were, or when there are none. */
  gpu_reason: z.string().max(500).exactOptional(),
  engines: z.array(EngineReport).max(256),
  /** Messages dropped from a full spool since the daemon started. */
  spool_dropped: z.int().nonnegative(),
})
export type Sample = z.infer<typeof Sample>

/** Body of the `history` topic. */
export const HistoryBody = z.object({ samples: z.array(Sample).min(1).max(200) })
