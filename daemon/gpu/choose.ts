import { access, constants, readFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { amdSampler, readAmdGpus } from './amd-sysfs.ts'
import { withProcesses } from './nvidia-processes.ts'
import { nvidiaSampler } from './nvidia-smi.ts'
import { combineSamplers, type GpuSampler, noGpus } from './sampler.ts'
import { jetsonSampler } from './tegrastats.ts'

interface Machine {
  /** Folders of programs, as in PATH. */
  path: string
  drmFolder: string
  /** File with the board's name, where there is a device tree. */
  boardFile: string
  intervalSeconds: number
}

export const thisMachine = (path: string | undefined, intervalSeconds: number): Machine => ({
  path: path ?? '/usr/local/bin:/usr/bin:/bin',
  drmFolder: '/sys/class/drm',
  boardFile: '/proc/device-tree/model',
  intervalSeconds,
})

/** Samplers for the installed GPUs. A Jetson's nvidia-smi reports less than its tegrastats. */
export const chooseSampler = async (machine: Machine): Promise<GpuSampler> => {
  const { intervalSeconds, drmFolder, path, boardFile } = machine
  const tegrastats = await findProgram('tegrastats', path)
  if (tegrastats) {
    const board = await readFile(boardFile, 'utf8').catch(() => 'NVIDIA Jetson')
    const name = board.replaceAll('\0', '').trim().slice(0, 256)
    return jetsonSampler({ command: tegrastats, board: name, intervalSeconds })
  }
  const samplers: GpuSampler[] = []
  const nvidiaSmi = await findProgram('nvidia-smi', path)
  if (nvidiaSmi) {
    const gpus = nvidiaSampler({ command: nvidiaSmi, intervalSeconds })
    samplers.push(withProcesses(gpus, { command: nvidiaSmi }))
  }
  if ((await readAmdGpus(drmFolder)).length > 0)
    samplers.push(amdSampler({ drmFolder, intervalSeconds }))
  return samplers.length === 0 ? noGpus : combineSamplers(samplers)
}

const findProgram = async (name: string, path: string): Promise<string | undefined> => {
  for (const folder of path.split(delimiter).filter(folder => folder.startsWith('/'))) {
    const file = join(folder, name)
    const runs = await access(file, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (runs) return file
  }
  return undefined
}
