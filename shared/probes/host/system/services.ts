import { program } from '../../needs.ts'
import { names } from '../../parameters.ts'
import { defineHostProbe } from '../../probe.ts'

export default defineHostProbe({
  id: 'services',
  call: 'services',
  description:
    'Services of the machine and whether they run: shares of processor and memory in percent.',
  shape: 'list',
  input: { names: names('Services to report; all by default.').optional() },
  needs: [program('ps')],
  argumentsFor: input => [input.names?.join(',') ?? '*'],
})
