import { SERIALS } from '../../private-fields.ts'
import { defineHostProbe } from '../../probe.ts'
import { sizes } from '../../units.ts'

export default defineHostProbe({
  id: 'mem-layout',
  call: 'memLayout',
  description: 'Memory modules: size in bytes, type, clock in MHz.',
  shape: 'list',
  units: sizes('bytes', 'size'),
  removed: SERIALS,
  emptyReason: 'no memory module was found',
  // without dmidecode the library invents one module with the size of the whole memory
  explainInvented: modules =>
    modules.every(({ bank, type, clockSpeed }) => !bank && !type && !clockSpeed)
      ? 'dmidecode is not installed, or the daemon is not permitted to use it'
      : undefined,
})
