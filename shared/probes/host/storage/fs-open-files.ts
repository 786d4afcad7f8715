import { defineHostProbe } from '../../probe.ts'

export default defineHostProbe({
  id: 'fs-open-files',
  call: 'fsOpenFiles',
  description: 'Number of open files, and their limit.',
  shape: 'object',
  explainInvented: ({ max }) => (max ? undefined : 'the kernel does not report open files'),
})
