import { existsSync, globSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/**
 * Libraries that the engine for CUDA loads, none of which comes with it: the driver has the first,
 * the CUDA runtime and cuBLAS have the others. The engine for CUDA 13 is tried first; its fallback for
 * CUDA 12 is in a package of its own.
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
}

export interface CudaFiles {
  /** Paths of the libraries that were found. */
  found: string[]
  /** Names of libraries that were not found. */
  missing: string[]
}

export const findCudaFiles = ({
  libraryPath = '',
  folders = [...SYSTEM_FOLDERS, ...globSync(TOOLKIT_FOLDERS)],
}: CudaPlaces): CudaFiles => {
  const places = [...libraryPath.split(delimiter).filter(Boolean), ...folders]
  const files: CudaFiles = { found: [], missing: [] }
  for (const names of LIBRARIES) {
    const paths = names.flatMap(name => places.map(folder => join(folder, name)))
    const path = paths.find(existsSync)
    if (path === undefined) files.missing.push(names.join(' or '))
    else files.found.push(path)
  }
  return files
}
