/**
 * The helper: one process for libraries that block, hang, crash or start foreign programs. The
 * daemon talks to it over IPC, asks only what stands in this table, and ends it by killing it.
 */
import { serve } from './serve.ts'

serve({
  host: async () => (await import('./host.ts')).host,
})
