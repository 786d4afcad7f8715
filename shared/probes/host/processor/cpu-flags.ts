import { defineHostProbe } from '../../probe.ts'

export default defineHostProbe({
  id: 'cpu-flags',
  call: 'cpuFlags',
  description: 'The instruction sets of the processor, with spaces between them.',
  shape: 'text',
  whenEmpty: 'the processor does not tell them',
})
