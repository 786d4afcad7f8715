import { defineHostProbe } from '../../probe.ts'

export default defineHostProbe({
  id: 'cpu-flags',
  call: 'cpuFlags',
  description: 'Instruction sets of the processor, separated by spaces.',
  shape: 'text',
  emptyReason: 'the kernel does not report the flags of the processor',
})
