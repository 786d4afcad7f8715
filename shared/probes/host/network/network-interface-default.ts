import { program } from '../../needs.ts'
import { defineHostProbe } from '../../probe.ts'

export default defineHostProbe({
  id: 'network-interface-default',
  call: 'networkInterfaceDefault',
  description: 'Network interface of the default route.',
  shape: 'text',
  needs: [program('ip')],
  emptyReason: 'there is no default route',
})
