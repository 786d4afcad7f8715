import * as z from 'zod'
import { LinkConfig } from '../../devices/links/index.ts'
import { SafetyEnvelope } from '../../shared/wire/safety-envelope.ts'
import { TARGET_PATTERN } from '../probes/target.ts'
import { findDuplicateName } from './config-faults.ts'

const toPathKey = (key: string): string | number => (/^\d+$/.test(key) ? Number(key) : key)

/** Devices of this cell. */
export const DevicesConfig = z.strictObject({
  site: z
    .string()
    .min(1)
    .max(64)
    .optional()
    .describe('Site of the devices of this cell; a device may name another one.'),
  scope: z
    .array(z.string().regex(TARGET_PATTERN))
    .max(256)
    .default([])
    .describe(
      'Machines that links may connect to beside this one: names, addresses, networks ' +
        '(192.0.2.0/24), with :port to allow a single port.',
    ),
  envelope: SafetyEnvelope.readonly().optional().describe('Limits of all devices of this cell.'),
  links: z
    .array(LinkConfig)
    .max(64)
    .default([])
    .superRefine((links, context) => {
      const found = findDuplicateName(links)
      if (found === undefined) return
      const [first, second] = found.keys
      const path = second.split('.').slice(1).map(toPathKey)
      const message = `${first} is ${found.name}, too; give each device of a cell a name of its own`
      context.addIssue({ code: 'custom', path, message })
    })
    .describe('Links to devices, one per connection.'),
})
export type DevicesConfig = z.infer<typeof DevicesConfig>
