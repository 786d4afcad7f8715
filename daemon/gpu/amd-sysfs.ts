import { readdir, readFile, realpath } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { wait as realWait, type Wait } from '../../shared/wait.ts'
import { patient } from '../patience.ts'
import { type GpuObservation, LatestReadings } from './latest-readings.ts'
import type { GpuSampler } from './sampler.ts'
import { bytes, percent, quantity } from './values.ts'

interface AmdOptions {
  /** Folder of the graphics devices, usually /sys/class/drm. */
  drmFolder: string
  intervalSeconds: number
  wait?: Wait
  now?: () => number
}

/** AMD GPUs, by the files of the amdgpu driver (Linux, Documentation/gpu/amdgpu). */
export const amdSampler = (options: AmdOptions): GpuSampler => {
  const { drmFolder, intervalSeconds, wait = realWait, now } = options
  const latest = new LatestReadings(intervalSeconds * 1000, now)
  const look = patient(() => readAmdGpus(drmFolder), intervalSeconds * 1000)
  const watch = async (signal: AbortSignal) => {
    while (!signal.aborted) {
      try {
        for (const seen of (await look()) ?? []) latest.put(seen)
      } catch (error) {
        latest.complain((error as Error).message)
      }
      await wait(intervalSeconds * 1000, signal)
    }
  }
  return {
    start: signal => void watch(signal),
    facts: () => latest.facts(),
    sample: () => latest.reading(),
  }
}

/** Every card that has the amdgpu driver's memory files, in the order of its number. */
export const readAmdGpus = async (drmFolder: string): Promise<GpuObservation[]> => {
  const cards = (await readdir(drmFolder).catch(() => []))
    .filter(name => /^card\d+$/.test(name))
    .sort((a, b) => Number(a.slice(4)) - Number(b.slice(4)))
  const seen: GpuObservation[] = []
  for (const card of cards) {
    const gpu = await readCard(join(drmFolder, card, 'device'), seen.length)
    if (gpu) seen.push(gpu)
  }
  return seen
}

const readCard = async (device: string, index: number): Promise<GpuObservation | undefined> => {
  const read = (name: string) => readText(join(device, name))
  const vram = bytes(await read('mem_info_vram_total'), 1)
  if ((await read('vendor')) !== '0x1002' || vram === null) return undefined
  const busy = await read('gpu_busy_percent')
  // amdgpu_pm.c offers mem_busy_percent on cards of their own memory only
  const unified = busy !== undefined && (await read('mem_busy_percent')) === undefined
  const shared = unified ? bytes(await read('mem_info_gtt_total'), 1) : 0
  const usedShared = unified ? bytes(await read('mem_info_gtt_used'), 1) : 0
  const used = bytes(await read('mem_info_vram_used'), 1)
  const sensors = await readSensors(join(device, 'hwmon'))
  const common = {
    index,
    id: basename(await realpath(device)).slice(0, 128),
    vram_total_bytes: sum(vram, shared),
    unified_memory: unified,
  }
  const name = (await read('product_name')) || `AMD GPU ${(await read('device')) ?? ''}`.trim()
  return {
    facts: { ...common, name: name.slice(0, 256), vendor: 'amd', driver: null },
    sample: {
      ...common,
      vram_used_bytes: sum(used, usedShared),
      utilization_percent: percent(busy),
      ...sensors,
    },
  }
}

/**
 * Linux, Documentation/hwmon/sysfs-interface: millidegrees, microwatts, hertz. The first clock is that
 * of the GPU, the second that of its memory (Documentation/gpu/amdgpu/thermal.rst).
 */
const readSensors = async (hwmon: string) => {
  const folder = (await readdir(hwmon).catch(() => []))[0]
  const read = async (name: string, scale: number): Promise<number | null> => {
    const value = folder ? quantity(await readText(join(hwmon, folder, name))) : null
    return value === null ? null : value / scale
  }
  const memoryClock = await read('freq2_input', 1e6)
  return {
    ...(memoryClock !== null && { memory_clock_mhz: memoryClock }),
    temperature_celsius: await read('temp1_input', 1000),
    power_watts: (await read('power1_average', 1e6)) ?? (await read('power1_input', 1e6)),
    clock_mhz: await read('freq1_input', 1e6),
  }
}

const sum = (a: number | null, b: number | null): number | null =>
  a === null || b === null ? null : a + b

/** A file that is missing, or that a sleeping card refuses (EPERM, EBUSY), is unknown. */
const readText = (path: string): Promise<string | undefined> =>
  readFile(path, 'utf8').then(
    text => text.trim(),
    () => undefined,
  )
