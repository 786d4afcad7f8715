import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { Writable } from 'node:stream'
import { parseArgs } from 'node:util'
import { pino } from 'pino'
import { measureAlone, writeWeights } from '../../bench/engine.ts'
import type { ReportRow } from '../../bench/measure.ts'
import { chooseSampler, thisMachine } from '../../daemon/gpu/choose.ts'
import { findCudaFiles } from '../../daemon/gpu/cuda-files.ts'
import { readFirst } from '../../daemon/gpu/first-reading.ts'
import type { GpuSampler } from '../../daemon/gpu/sampler.ts'
import { lacksGpuEngines } from '../../daemon/inference/gpu-engines.ts'
import { needRows } from './gpu/needs.ts'
import { type GpuPeaks, sum, watchPeaks } from './gpu/telemetry.ts'

const MIB = 1024 * 1024
const SLOTS = 16
const CONTEXT_LENGTH = 2048

/**
 * Runs the engine, the telemetry and the batching bench on an NVIDIA GPU, and prints one table. It needs
 * no network: the packages that it lists, and weights of a real model. Without weights it makes random
 * ones of 100 million parameters. On a machine without such a GPU it says so, and that is no failure.
 *
 *   npm run prove -- gpu [--weights file.gguf] [--threads 4]
 */
export const main = async (argv: string[]): Promise<boolean> => {
  const options = {
    weights: { type: 'string' },
    threads: { type: 'string', default: '4' },
  } as const
  const { values } = parseArgs({ args: argv, options })
  const stop = new AbortController()
  const sampler = await chooseSampler(thisMachine(process.env.PATH, 1))
  const { reason } = await readFirst(sampler, stop.signal)
  if (!sampler.facts().some(({ vendor }) => vendor === 'nvidia')) {
    console.log(`no GPU here${reason === undefined ? '' : `: ${reason}`}. A proof needs:`)
    console.table(needRows())
    stop.abort()
    return true
  }
  const folder = mkdtempSync(join(tmpdir(), 'shoal-gpu-'))
  try {
    const weights = values.weights === undefined ? writeWeights(folder) : resolve(values.weights)
    return await proveOn(sampler, { weights, folder, threads: Number(values.threads) })
  } finally {
    stop.abort()
    rmSync(folder, { recursive: true, force: true })
  }
}

interface Inputs {
  weights: string
  folder: string
  threads: number
}

const proveOn = async (sampler: GpuSampler, inputs: Inputs): Promise<boolean> => {
  const before = sum(sampler.sample().gpus, 'vram_used_bytes')
  const files = findCudaFiles({ libraryPath: process.env.LD_LIBRARY_PATH })
  if (lacksGpuEngines()) files.missing.unshift('the engines for GPUs (npm run gpu-engines)')
  const started = recordEngine()
  const watch = watchPeaks(sampler)
  const settings = { ...inputs, slots: SLOTS, contextLength: CONTEXT_LENGTH }
  const { rows, latencies } = await measureAlone({
    ...settings,
    logger: started.logger,
    gpus: sampler,
  })
  const peaks = watch.stop()
  const weightsBytes = statSync(inputs.weights).size
  const { device, loadMs } = started.engine()
  printTable([
    ...sampler.facts().map(({ name, driver }) => ['machine', name, `driver ${driver}`]),
    ...files.found.map(path => ['libraries', path, `${toMib(statSync(path).size)} MiB`]),
    ...files.missing.map(name => ['libraries', name, 'missing']),
    ['engine', 'device', device ?? 'none'],
    ['engine', 'start, first kernels included', `${loadMs} ms`],
    ['engine', 'weights', `${toMib(weightsBytes)} MiB`],
    ...telemetryRows(before, peaks),
    ...rows.flatMap(batchingRows),
    ...Object.entries(latencies).map(([name, ms]) => ['batching', name, `${ms}`]),
  ])
  return judge({ device, missing: files.missing, before, peaks, weightsBytes })
}

/** Collects what a ready engine reports of its device and its load. */
const recordEngine = () => {
  let ready: { device?: string; load_ms?: number } = {}
  const lines = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      const line = JSON.parse(chunk.toString())
      if (line.msg === 'engine ready') ready = line
      else if (line.level >= 40) console.error(line.msg, line.reason ?? '')
      done()
    },
  })
  return {
    logger: pino({ level: 'info' }, lines),
    engine: () => ({ device: ready.device, loadMs: ready.load_ms }),
  }
}

const telemetryRows = (before: number | null, peaks: GpuPeaks): string[][] => [
  ['telemetry', 'memory in use before', showMib(before)],
  ['telemetry', 'memory in use under load', showMib(peaks.usedBytes)],
  ['telemetry', 'utilization under load', `${peaks.utilizationPercent ?? 'unknown'} %`],
  ['telemetry', 'power under load', `${peaks.powerWatts ?? 'unknown'} W`],
  ['telemetry', 'temperature under load', `${peaks.temperatureCelsius ?? 'unknown'} C`],
]

const batchingRows = ({ streams, tokens_per_second, batch_fill }: ReportRow): string[][] => [
  ['batching', `streams: ${streams}`, `${tokens_per_second} tokens/s, batch fill ${batch_fill}`],
]

const toMib = (bytes: number): number => Math.round(bytes / MIB)
const showMib = (bytes: number | null): string =>
  bytes === null ? 'unknown' : `${toMib(bytes)} MiB`

const printTable = (rows: string[][]): void =>
  console.table(rows.map(([part, what, value]) => ({ part, what, value })))

interface Verdict {
  device: string | undefined
  missing: readonly string[]
  before: number | null
  peaks: GpuPeaks
  weightsBytes: number
}

/** The engine ran on the GPU, and the telemetry saw its memory and its work. */
const judge = ({ device, missing, before, peaks, weightsBytes }: Verdict): boolean => {
  const faults: string[] = []
  if (device !== 'cuda')
    faults.push(`the engine took ${device ?? 'no device'}; missing: ${missing.join(', ') || '-'}`)
  if ((peaks.usedBytes ?? 0) - (before ?? 0) < weightsBytes / 2)
    faults.push('the telemetry did not see the memory of the weights')
  if (!peaks.utilizationPercent) faults.push('the telemetry did not see the load')
  for (const fault of faults) console.log(fault)
  return faults.length === 0
}
