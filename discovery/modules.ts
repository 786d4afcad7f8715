import { loadModules } from './load.ts'
import { isScan } from './module.ts'

/** All declarations, one file each in the folders of `modules`, by domain and id. */
export const ALL_MODULES = await loadModules()

/** The discovery modules: each is a skill on the agent card. */
export const DISCOVERY_MODULES = ALL_MODULES.filter(
  module => !isScan(module) || module.isPart !== true,
)
