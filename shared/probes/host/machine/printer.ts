import { defineHostProbe } from '../../probe.ts'

export default defineHostProbe({
  id: 'printer',
  call: 'printer',
  description: 'Printers that are set up, without their addresses.',
  shape: 'list',
  removed: ['uri'],
  whenEmpty: 'no printer is set up, or its settings may not be read (CUPS)',
})
