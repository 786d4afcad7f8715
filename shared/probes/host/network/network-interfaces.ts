import { defineHostProbe } from '../../probe.ts'

export default defineHostProbe({
  id: 'network-interfaces',
  call: 'networkInterfaces',
  description: 'Interfaces with their addresses and state; speed in Mbit/s.',
  shape: 'list',
})
