import type { HostProbeParts, HostProbes } from './host-probes.ts'

/** Host probes that cost a daemon nothing until somebody asks: their table is loaded then. */
export const lazyHostProbes = (parts: HostProbeParts): HostProbes => {
  let loading: Promise<HostProbes> | undefined
  const load = async (): Promise<HostProbes> => {
    const { createHostProbes } = await import('./host-probes.ts')
    return createHostProbes(parts)
  }
  return {
    ask: async (probeId, input) => {
      loading ??= load()
      return (await loading).ask(probeId, input)
    },
  }
}
