import { defineHostProbe } from '../../probe.ts'

export default defineHostProbe({
  id: 'full-load',
  call: 'fullLoad',
  description: 'Mean load of the processor since the machine was started, percent.',
  shape: 'number',
})
