import * as z from 'zod'
import { INTERFACES } from '../../needs.ts'
import { defineHostProbe } from '../../probe.ts'
import { sizes } from '../../units.ts'

export default defineHostProbe({
  id: 'network-stats',
  call: 'networkStats',
  description: 'Bytes, losses and errors of interfaces since boot, and bytes per second.',
  shape: 'list',
  input: {
    interfaces: z
      .array(
        z
          .string()
          .regex(/^[A-Za-z0-9_][A-Za-z0-9_.@:-]{0,31}$/)
          .max(32),
      )
      .min(1)
      .max(20)
      .optional()
      .describe('Interfaces to report; the one of the default route by default.'),
  },
  units: sizes('bytes/s', 'rx_sec', 'tx_sec'),
  isRate: true,
  needs: [INTERFACES],
  argumentsFor: ({ interfaces }) => (interfaces === undefined ? [] : [interfaces.join(',')]),
  emptyReason: 'there is no such network interface',
})
