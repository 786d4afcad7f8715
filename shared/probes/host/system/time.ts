import { defineHostProbe } from '../../probe.ts'

export default defineHostProbe({
  id: 'time',
  call: 'time',
  description: 'Clock (unix time, milliseconds), time zone and uptime (seconds) of the machine.',
  shape: 'object',
})
