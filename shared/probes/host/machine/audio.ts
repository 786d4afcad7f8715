import { program } from '../../needs.ts'
import { SERIALS } from '../../private-fields.ts'
import { defineHostProbe } from '../../probe.ts'

export default defineHostProbe({
  id: 'audio',
  call: 'audio',
  description: 'Sound cards and their drivers.',
  shape: 'list',
  removed: SERIALS,
  needs: [program('lspci', 'aplay')],
  emptyReason: 'no sound card was found',
})
