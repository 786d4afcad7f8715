import { execFile } from 'node:child_process'
import { basename } from 'node:path'
import { wait as realWait, type Wait } from '../../shared/wait.ts'
import type { GpuProcess } from '../../shared/wire/telemetry.ts'
import { patient } from '../patience.ts'
import type { GpuSampler } from './sampler.ts'
import { bytes, MIB } from './values.ts'

interface ProcessesOptions {
  /** Path of nvidia-smi. */
  command: string
  intervalSeconds?: number
  wait?: Wait
  /** Runs a program and answers its output; rejects when it fails. */
  run?: (command: string, args: string[], signal: AbortSignal) => Promise<string>
}

/** A list is good for this many intervals. */
const STALE_INTERVALS = 2
const MAX_PROCESSES = 16
const TIMEOUT_MS = 10_000

/** `nvidia-smi --help-query-compute-apps`. The name is last, as it may contain a comma. */
const ARGS = [
  '--query-compute-apps=gpu_uuid,pid,used_gpu_memory,process_name',
  '--format=csv,noheader,nounits',
]

/**
 * Adds the programs that use them to the samples of NVIDIA GPUs. nvidia-smi does not mark the end
 * of a repeated list, so each list is a short, infrequent run.
 */
export const withProcesses = (sampler: GpuSampler, options: ProcessesOptions): GpuSampler => {
  const { command, intervalSeconds = 30, wait = realWait, run = runProgram } = options
  let lists: Map<string, GpuProcess[]> | undefined

  const watch = async (signal: AbortSignal): Promise<void> => {
    const look = patient(() => run(command, ARGS, signal), TIMEOUT_MS)
    for (let failures = 0; !signal.aborted; ) {
      const text = await look().catch(() => null)
      failures = text === null ? failures + 1 : 0
      if (text !== null) lists = parseProcesses(text)
      else if (failures >= STALE_INTERVALS) lists = undefined
      await wait(intervalSeconds * 1000, signal)
    }
  }

  return {
    start: signal => {
      sampler.start(signal)
      void watch(signal)
    },
    facts: () => sampler.facts(),
    sample: () => {
      const reading = sampler.sample()
      if (lists === undefined) return reading
      const gpus = reading.gpus.map(gpu => ({ ...gpu, processes: lists?.get(gpu.id) ?? [] }))
      return { ...reading, gpus }
    },
  }
}

/** Processes per GPU UUID, the largest first. A line that describes no process is skipped. */
export const parseProcesses = (text: string): Map<string, GpuProcess[]> => {
  const lists = new Map<string, GpuProcess[]>()
  for (const line of text.split('\n')) {
    const [gpu = '', pid = '', used, ...name] = line.trim().split(', ')
    if (!/^\d{1,10}$/.test(pid) || Number(pid) > 2 ** 31 || name.length === 0) continue
    const process: GpuProcess = {
      pid: Number(pid),
      name: basename(name.join(', ')).slice(0, 128),
      used_bytes: bytes(used, MIB),
    }
    lists.set(gpu, [...(lists.get(gpu) ?? []), process])
  }
  for (const [gpu, list] of lists) {
    const sorted = list.sort((a, b) => (b.used_bytes ?? 0) - (a.used_bytes ?? 0))
    lists.set(gpu, sorted.slice(0, MAX_PROCESSES))
  }
  return lists
}

const runProgram = (command: string, args: string[], signal: AbortSignal): Promise<string> =>
  new Promise((resolve, reject) => {
    const options = {
      signal,
      killSignal: 'SIGKILL',
      timeout: TIMEOUT_MS,
      maxBuffer: MIB,
      env: { ...process.env, LC_ALL: 'C' },
    } as const
    const child = execFile(command, args, options, (error, stdout) =>
      error ? reject(error) : resolve(stdout),
    )
    // a child that hangs in the kernel must not keep the daemon from ending
    child.unref()
  })
