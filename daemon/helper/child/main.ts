/**
 * Entry point of a helper: one process per class, for libraries that block, hang, crash or start
 * other programs. The daemon talks to it over a pipe, calls only functions of this table, and stops it
 * by killing it.
 */
import { serveCalls } from './serve.ts'

serveCalls({
  host: async name => (await import('./host.ts')).findHostProbe(name),
  module: async id => (await import('./module.ts')).findModuleRun(id),
  'module-config': async id => (await import('./module-config.ts')).findConfigCheck(id),
})
