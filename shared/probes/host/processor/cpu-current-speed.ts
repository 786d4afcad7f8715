import { defineHostProbe } from '../../probe.ts'

export default defineHostProbe({
  id: 'cpu-current-speed',
  call: 'cpuCurrentSpeed',
  description: 'Current clock of every core, GHz.',
  shape: 'object',
  explainInvented: ({ avg }) =>
    (avg ?? 0) === 0 ? 'the kernel does not report the clock of the processor' : undefined,
})
