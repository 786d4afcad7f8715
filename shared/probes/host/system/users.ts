import { program } from '../../needs.ts'
import { COMMAND_LINE } from '../../private-fields.ts'
import { defineHostProbe } from '../../probe.ts'

export default defineHostProbe({
  id: 'users',
  call: 'users',
  description: 'Who is logged in, since when and from where, without what they run.',
  shape: 'list',
  removed: COMMAND_LINE,
  needs: [program('who')],
})
