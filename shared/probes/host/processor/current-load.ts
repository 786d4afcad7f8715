import { defineHostProbe } from '../../probe.ts'

export default defineHostProbe({
  id: 'current-load',
  call: 'currentLoad',
  description: 'Load of the processor and of every core since the previous sample, percent.',
  shape: 'object',
  isRate: true,
})
