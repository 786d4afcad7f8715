import { program } from '../../needs.ts'
import { defineHostProbe } from '../../probe.ts'

export default defineHostProbe({
  id: 'network-interface-default',
  call: 'networkInterfaceDefault',
  description: 'The network interface of the default route.',
  shape: 'text',
  needs: [program('ip')],
  whenEmpty: 'there is no default route',
})
