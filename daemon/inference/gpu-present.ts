import { existsSync } from 'node:fs'

/** Device files created by the drivers of NVIDIA, AMD, Intel, Jetson and WSL. */
const GPU_DEVICES = [
  '/dev/nvidiactl',
  '/dev/dri/renderD128',
  '/dev/kfd',
  '/dev/nvhost-gpu',
  '/dev/nvmap',
  '/dev/dxg',
]

/**
 * False where it is sure that there is no GPU: the engine then does not even try, because looking
 * for one has crashed it on such machines (withcatai/node-llama-cpp#554).
 */
export const gpuMayBePresent = (
  platform: NodeJS.Platform = process.platform,
  exists: (path: string) => boolean = existsSync,
): boolean => platform !== 'linux' || GPU_DEVICES.some(exists)
