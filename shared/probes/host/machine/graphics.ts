import { SERIALS } from '../../private-fields.ts'
import { defineHostProbe } from '../../probe.ts'
import { sizes } from '../../units.ts'

export default defineHostProbe({
  id: 'graphics',
  call: 'graphics',
  description:
    'Graphics controllers and displays: memory in MiB, temperatures in degrees Celsius, power in watts.',
  shape: 'object',
  units: sizes('MiB', 'vram', 'memoryTotal', 'memoryUsed', 'memoryFree'),
  removed: SERIALS,
  emptyReason: 'no graphics controller was found (lspci, nvidia-smi)',
})
