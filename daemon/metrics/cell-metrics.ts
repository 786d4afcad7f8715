import { createMetric, type Metric } from '../../shared/metrics/metric.ts'
import { VERSION } from '../../shared/version.ts'
import type { GpuSample } from '../../shared/wire/telemetry.ts'
import type { GpuSampler } from '../gpu/sampler.ts'

/** All metrics of a cell: engines, GPUs and the daemon's process. */
export const cellMetrics = (
  inference: { metrics?(): Metric[] },
  gpus: Pick<GpuSampler, 'sample'>,
): Metric[] => [
  ...(inference.metrics?.() ?? []),
  ...gpuMetrics(gpus.sample().gpus),
  ...processMetrics,
]

/** Metrics of the GPUs; a reading that the driver does not report has no value. */
const gpuMetrics = (gpus: readonly GpuSample[]): Metric[] => {
  const gauge = (
    name: string,
    help: string,
    readGpu: (gpu: GpuSample) => number | null,
  ): Metric => ({
    name,
    type: 'gauge',
    help,
    labels: ['gpu', 'id'],
    read: () =>
      gpus.flatMap(gpu => {
        const value = readGpu(gpu)
        return value === null ? [] : [{ labels: { gpu: String(gpu.index), id: gpu.id }, value }]
      }),
  })
  return [
    gauge('shoal_gpu_memory_used_bytes', 'Memory in use.', gpu => gpu.vram_used_bytes),
    gauge('shoal_gpu_memory_total_bytes', 'Total memory.', gpu => gpu.vram_total_bytes),
    gauge('shoal_gpu_utilization_percent', 'Utilisation.', gpu => gpu.utilization_percent),
    gauge('shoal_gpu_temperature_celsius', 'Temperature.', gpu => gpu.temperature_celsius),
    gauge('shoal_gpu_power_watts', 'Power draw.', gpu => gpu.power_watts),
  ]
}

/** The names that every client of Prometheus uses for them. */
const processMetrics: readonly Metric[] = [
  createMetric(
    {
      name: 'process_cpu_seconds_total',
      type: 'counter',
      help: 'CPU time of the daemon, without its engines.',
    },
    () => {
      const { user, system } = process.cpuUsage()
      return (user + system) / 1e6
    },
  ),
  createMetric(
    {
      name: 'process_resident_memory_bytes',
      type: 'gauge',
      help: 'Memory of the daemon, without its engines.',
    },
    () => process.memoryUsage.rss(),
  ),
  createMetric(
    {
      name: 'process_start_time_seconds',
      type: 'gauge',
      help: 'Start of the daemon, Unix time.',
    },
    () => Math.round(performance.timeOrigin) / 1000,
  ),
  {
    name: 'shoal_build_info',
    type: 'gauge',
    help: 'Always 1; the version is a label.',
    labels: ['version'],
    read: () => [{ labels: { version: VERSION }, value: 1 }],
  },
]
