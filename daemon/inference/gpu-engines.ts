/** Engines for GPUs are a choice of the operator: a package, or `npm run gpu-engines`. */
const ENGINES = ['@node-llama-cpp/linux-x64-cuda', '@node-llama-cpp/linux-x64-vulkan']

/** False where models run on the CPU even beside a GPU; there is nothing to install for arm64. */
export const lacksGpuEngines = (): boolean => process.arch === 'x64' && !ENGINES.some(isInstalled)

const isInstalled = (name: string): boolean => {
  try {
    import.meta.resolve(name)
    return true
  } catch {
    return false
  }
}
