/**
 * A helper: one process of a class for libraries that block, hang, crash or start foreign programs.
 * The daemon talks to it over IPC, calls only what stands in this table, and ends it by killing it.
 */
import { serve } from './serve.ts'

serve({
  host: async name => (await import('./host.ts')).findHostProbe(name),
})
