import { program } from '../../needs.ts'
import { names } from '../../parameters.ts'
import { defineHostProbe } from '../../probe.ts'

export default defineHostProbe({
  id: 'process-load',
  call: 'processLoad',
  description: 'Combined load of the processes with these names, percent.',
  shape: 'list',
  input: { names: names('Parts of names of processes, as `ps -o comm` shows them.') },
  isRate: true,
  needs: [program('ps')],
  argumentsFor: input => [input.names.join(',')],
})
