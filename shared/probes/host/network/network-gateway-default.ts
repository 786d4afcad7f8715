import { program } from '../../needs.ts'
import { defineHostProbe } from '../../probe.ts'

export default defineHostProbe({
  id: 'network-gateway-default',
  call: 'networkGatewayDefault',
  description: 'Address of the default gateway.',
  shape: 'text',
  needs: [program('ip')],
  emptyReason: 'there is no default route',
})
