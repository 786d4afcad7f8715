import { defineHostProbe } from '../../probe.ts'

export default defineHostProbe({
  id: 'shell',
  call: 'shell',
  description: 'Shell of the account that the daemon runs as.',
  shape: 'text',
  emptyReason: 'the account of the daemon has no shell',
})
