import { readFile } from 'node:fs/promises'
import type { GpuSample } from '../../../shared/wire/telemetry.ts'
import { parseMemory } from '../../host/proc.ts'
import type { Memory } from './plan-room.ts'

/** The memory that engines share, as the machine shows it now. */
export interface MemoryReading extends Memory {
  kind: 'gpu' | 'host'
  /** Memory of a process; undefined when the machine does not report it. */
  seenBytes(pid: number): number | undefined
  /** Time of the reading, by the clock of the engines; absent for a current one. */
  takenAt?: number
}

/** Reads the memory of a device; undefined when it is not known: then nothing is refused. */
export type ReadMemory = (
  device: 'gpu' | 'host',
  pids: number[],
) => Promise<MemoryReading | undefined>

/** The newest sample of the cell's GPUs. */
interface SeenGpus {
  gpus: readonly GpuSample[]
  takenAt?: number
}

/** @param sampleGpus returns undefined until the cell's GPUs are known */
export const memoryReader =
  (sampleGpus: () => SeenGpus | undefined, procFolder = '/proc'): ReadMemory =>
  (device, pids) => {
    const found = device === 'gpu' ? sampleGpus() : { gpus: [] }
    if (found === undefined) return Promise.resolve(undefined)
    const own = { ...found, gpus: found.gpus.filter(hasOwnMemory) }
    return own.gpus.length > 0 ? Promise.resolve(gpuMemory(own)) : hostMemory(pids, procFolder)
  }

/** One that shares the host's memory is counted there. */
const hasOwnMemory = ({ unified_memory, vram_total_bytes }: GpuSample): boolean =>
  !unified_memory && vram_total_bytes !== null

/** The engine spreads the layers over all GPUs, so their memory counts together. */
const gpuMemory = ({ gpus, takenAt }: SeenGpus): MemoryReading | undefined => {
  if (gpus.some(({ vram_used_bytes }) => vram_used_bytes === null)) return undefined
  const sum = (readValue: (gpu: GpuSample) => number | null) =>
    gpus.reduce((total, gpu) => total + (readValue(gpu) ?? 0), 0)
  const processes = gpus.map(gpu => gpu.processes)
  return {
    kind: 'gpu',
    ...(takenAt !== undefined && { takenAt }),
    totalBytes: sum(gpu => gpu.vram_total_bytes),
    usedBytes: sum(gpu => gpu.vram_used_bytes),
    seenBytes: pid => {
      if (processes.includes(undefined)) return undefined
      const own = processes.flatMap(list => list ?? []).filter(each => each.pid === pid)
      return own.some(({ used_bytes }) => used_bytes === null)
        ? undefined
        : own.reduce((total, { used_bytes }) => total + (used_bytes ?? 0), 0)
    },
  }
}

/**
 * Weights are mapped from their file, and the kernel calls such pages available (proc_meminfo(5)):
 * what counts of a process is the memory that is its own, and the rest of its estimate is hidden.
 */
const hostMemory = async (
  pids: readonly number[],
  procFolder: string,
): Promise<MemoryReading | undefined> => {
  const read = (name: string) => readFile(`${procFolder}/${name}`, 'utf8').catch(() => '')
  const { total, used } = parseMemory(await read('meminfo'))
  if (total === null || used === null) return undefined
  const seen = new Map<number, number>()
  for (const pid of pids) {
    const own = /^RssAnon:\s+(\d+) kB$/m.exec(await read(`${pid}/status`))?.[1]
    if (own !== undefined) seen.set(pid, Number(own) * 1024)
  }
  return { kind: 'host', totalBytes: total, usedBytes: used, seenBytes: pid => seen.get(pid) }
}
