import { loadModules } from './load.ts'

/** All discovery modules, one file each in the folders of `modules`, by domain and id. */
export const DISCOVERY_MODULES = await loadModules()
