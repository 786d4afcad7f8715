import { defineHostProbe } from '../../probe.ts'

export default defineHostProbe({
  id: 'fs-open-files',
  call: 'fsOpenFiles',
  description: 'How many files are open and how many may be.',
  shape: 'object',
  explainInvented: ({ max }) => (max ? undefined : 'the kernel does not tell it'),
})
