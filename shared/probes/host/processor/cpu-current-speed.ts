import { defineHostProbe } from '../../probe.ts'

export default defineHostProbe({
  id: 'cpu-current-speed',
  call: 'cpuCurrentSpeed',
  description: 'Clock of every core now, GHz.',
  shape: 'object',
  explainInvented: ({ avg }) =>
    (avg ?? 0) === 0 ? 'the kernel does not tell the clock of the processor' : undefined,
})
