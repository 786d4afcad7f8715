import { defineHostProbe } from '../../probe.ts'

export default defineHostProbe({
  id: 'shell',
  call: 'shell',
  description: 'The shell of the account that the daemon runs as.',
  shape: 'text',
  whenEmpty: 'the daemon runs without a shell',
})
