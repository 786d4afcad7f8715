import { loadHostProbes } from './load.ts'

/** All host probes, one file each, in the folders of `host`. */
export const HOST_PROBES = await loadHostProbes()
