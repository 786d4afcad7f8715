import { pino } from 'pino'
import type { GpuFacts } from '../../shared/wire/announce.ts'
import { chooseSampler, thisMachine } from '../gpu/choose.ts'
import { type CudaFiles, findCudaFiles } from '../gpu/cuda-files.ts'
import { readFirst } from '../gpu/first-reading.ts'
import { askDevice, type EngineDevice } from '../inference/ask-device.ts'
import { engineSpawner } from '../inference/engine-child.ts'
import { lacksGpuEngines } from '../inference/gpu-engines.ts'
import { gpuMayBePresent } from '../inference/gpu-present.ts'
import { type CheckReport, type DoctorCheck, ok, skip, warn } from './check.ts'

/** Time for the start of an engine; the first one on a new kind of GPU compiles its kernels. */
const ENGINE_WAIT_MS = 60_000

/** Does the engine use the GPUs that the telemetry sees? Starts one to find out. */
export const engine: DoctorCheck = async ({ config, path, libraryPath, signal }) => {
  const stop = new AbortController()
  const sampler = await chooseSampler(thisMachine(path, 1))
  await readFirst(sampler, AbortSignal.any([signal, stop.signal]))
  stop.abort()
  const gpus = sampler.facts()
  if (gpus.length === 0) return skip('no GPU was found that an engine can use')
  if (config.inference.gpu === 'off') return ok('the engine uses the CPU: inference.gpu is off')
  if (lacksGpuEngines())
    return warn(
      `${gpus[0]?.name} is there, but models run on the CPU: no engine for GPUs is installed`,
      'install the package shoald-gpu-engines (in a clone: npm run gpu-engines)',
    )
  const limit = AbortSignal.any([signal, AbortSignal.timeout(ENGINE_WAIT_MS)])
  const seen = gpuMayBePresent()
    ? await askDevice(engineSpawner(pino({ level: 'silent' })), limit)
    : undefined
  return describeEngine(gpus, seen, findCudaFiles({ libraryPath }))
}

const NAMES: Record<string, string> = { cuda: 'CUDA', vulkan: 'Vulkan', cpu: 'the CPU' }

/**
 * @param seen device of an engine; undefined when it is not even tried, because the machine has none of
 * the files in /dev through which a GPU is used
 */
export const describeEngine = (
  gpus: readonly Pick<GpuFacts, 'name' | 'vendor'>[],
  seen: EngineDevice | undefined,
  { missing }: CudaFiles,
): CheckReport => {
  const [gpu] = gpus
  if (seen === undefined)
    return warn(
      `${gpu?.name} is there, but no device file such as /dev/nvidiactl: the engine uses the CPU`,
      'load the module of the driver; in a container, pass the devices of the GPU to it',
    )
  const { device, reason } = seen
  if (device === undefined)
    return warn(
      `an engine with GPU does not start: ${reason}`,
      'set inference.gpu to off until the driver is repaired, so that models run on the CPU',
    )
  const uses = `the engine uses ${NAMES[device] ?? device}`
  const isNvidia = gpus.some(({ vendor }) => vendor === 'nvidia')
  if (device === 'cuda' || (device !== 'cpu' && !isNvidia)) return ok(uses)
  const says = `${gpu?.name} is there, but ${uses}`
  if (!isNvidia) return warn(says, 'install the Vulkan loader and driver of the GPU (libvulkan1)')
  return missing.length === 0
    ? warn(says, 'all CUDA libraries were found: see the log of the daemon at the level debug')
    : warn(`${says}: ${missing.join(', ')} not found`, CUDA_REMEDY)
}

const CUDA_REMEDY =
  'install what is missing, and name the folders of the libraries in LD_LIBRARY_PATH of the daemon; ' +
  'see GPUs in docs/inference.md'
