import { defineHostProbe } from '../../probe.ts'

export default defineHostProbe({
  id: 'printer',
  call: 'printer',
  description: 'Configured printers, without their addresses.',
  shape: 'list',
  removed: ['uri'],
  emptyReason: 'no printer is configured, or the CUPS settings are not readable',
})
