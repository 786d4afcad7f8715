import { program } from '../../needs.ts'
import { defineHostProbe } from '../../probe.ts'

export default defineHostProbe({
  id: 'network-connections',
  call: 'networkConnections',
  description: 'Open sockets with their addresses, state and process.',
  shape: 'list',
  needs: [program('netstat', 'ss')],
})
