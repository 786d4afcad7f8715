/** A package that a machine needs for models on an NVIDIA GPU. */
interface Need {
  name: string
  /** Size of its archive and of the installed files, in MB; undefined where it depends on the version. */
  archiveMb?: number
  installedMb?: number
  holds: string
}

/** Sizes of version 3.21.1 of the engine; `npm run gpu-engines` brings the second and the third. */
const NEEDS: readonly Need[] = [
  { name: 'node-llama-cpp', archiveMb: 35.4, installedMb: 41, holds: 'the library of the engine' },
  {
    name: '@node-llama-cpp/linux-x64-cuda',
    ...{ archiveMb: 142.9, installedMb: 181, holds: 'the engine for CUDA 13' },
  },
  {
    name: '@node-llama-cpp/linux-x64-cuda-ext',
    ...{ archiveMb: 176.7, installedMb: 357, holds: 'the engine for CUDA 12, a fallback' },
  },
  { name: 'the NVIDIA driver', holds: 'nvidia-smi, libcuda.so.1' },
  { name: 'the CUDA runtime 13 or 12', holds: 'libcudart.so.13 or .12' },
  { name: 'cuBLAS 13 or 12', holds: 'libcublas.so.13 or .12, libcublasLt.so.13 or .12' },
]

const inMb = (value: number | undefined): string => (value === undefined ? '-' : `${value} MB`)

export const needRows = () =>
  NEEDS.map(({ name, archiveMb, installedMb, holds }) => ({
    package: name,
    archive: inMb(archiveMb),
    installed: inMb(installedMb),
    holds,
  }))
