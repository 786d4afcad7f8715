import { existsSync, globSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Package with the engine for CUDA; there is one for x64 only. */
export const CUDA_PACKAGE = '@node-llama-cpp/linux-x64-cuda'

/**
 * Libraries that the engine for CUDA loads, none of which comes with it: the driver has the first,
 * the CUDA runtime and cuBLAS have the others. The engine for CUDA 13 is tried first; its fallback for
 * CUDA 12 is in the package `CUDA_PACKAGE` with `-ext`.
 */
const LIBRARIES = [
  ['libcuda.so.1'],
  ['libcudart.so.13', 'libcudart.so.12'],
  ['libcublas.so.13', 'libcublas.so.12'],
  ['libcublasLt.so.13', 'libcublasLt.so.12'],
]

/** Folders in which the engine looks for them (node-llama-cpp, detectAvailableComputeLayers). */
const SYSTEM_FOLDERS = [
  '/usr/lib',
  '/usr/lib64',
  '/usr/lib/x86_64-linux-gnu',
  '/usr/lib/aarch64-linux-gnu',
]
const TOOLKIT_FOLDERS = '/usr/local/cuda*/targets/*/lib'

interface CudaPlaces {
  /** LD_LIBRARY_PATH of the daemon. */
  libraryPath: string | undefined
  folders?: readonly string[]
  /** True when a package of npm is installed. */
  isInstalled?: (name: string) => boolean
}

export interface CudaFiles {
  /** Paths of the libraries that were found. */
  found: string[]
  /** Names of libraries, and of the package, that were not found. */
  missing: string[]
}

export const findCudaFiles = ({
  libraryPath = '',
  folders = [...SYSTEM_FOLDERS, ...globSync(TOOLKIT_FOLDERS)],
  isInstalled = isPackageInstalled,
}: CudaPlaces): CudaFiles => {
  const places = [...libraryPath.split(delimiter).filter(Boolean), ...folders]
  const files: CudaFiles = { found: [], missing: [] }
  if (!isInstalled(CUDA_PACKAGE)) files.missing.push(`the package ${CUDA_PACKAGE}`)
  for (const names of LIBRARIES) {
    const paths = names.flatMap(name => places.map(folder => join(folder, name)))
    const path = paths.find(existsSync)
    if (path === undefined) files.missing.push(names.join(' or '))
    else files.found.push(path)
  }
  return files
}

const isPackageInstalled = (name: string): boolean => {
  try {
    return import.meta.resolve(name) !== ''
  } catch {
    return false
  }
}
