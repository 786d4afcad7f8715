import { program } from '../../needs.ts'
import { COMMAND_LINE } from '../../private-fields.ts'
import { defineHostProbe } from '../../probe.ts'

export default defineHostProbe({
  id: 'users',
  call: 'users',
  description: 'Logged-in users, with the time and origin of the login, without their commands.',
  shape: 'list',
  removed: COMMAND_LINE,
  needs: [program('who')],
})
