import { loadHostProbes } from './load.ts'

/** Every host probe: one file each, in the folders of `host`. */
export const HOST_PROBES = await loadHostProbes()
