import * as z from 'zod'
import { findEntryFault } from '../../discovery/scope.ts'
import { MAX_SCOPE_ENTRIES, ScopeEntry } from '../../shared/wire/scan-scope.ts'

const listTargets = (is_forced: boolean) =>
  z
    .array(
      ScopeEntry.shape.target.superRefine((target, context) => {
        const message = findEntryFault({ target, is_forced })
        if (message !== undefined) context.addIssue({ code: 'custom', message })
      }),
    )
    .max(MAX_SCOPE_ENTRIES / 2)
    .default([])

/** Discovery on this cell. */
export const DiscoveryConfig = z.strictObject({
  enabled: z.boolean().default(true).describe('Allow operators to run modules on this cell.'),
  scope: listTargets(false).describe(
    'Networks (192.0.2.0/24), addresses and names of hosts that active modules may contact beside ' +
      'this machine and what the coordinator adds.',
  ),
  large_scope: listTargets(true).describe('The same for networks that are larger than a /22.'),
  auto_run: z
    .strictObject({
      max_findings_per_hour: z
        .int()
        .min(1)
        .default(20_000)
        .describe('Findings that modules that run by themselves may report in an hour.'),
      max_active_seconds_per_hour: z
        .int()
        .min(0)
        .max(3600)
        .default(1800)
        .describe(
          'Time in an hour in which they may contact other machines or use a radio; a run that has ' +
            'begun ends at its own deadline.',
        ),
    })
    .prefault({})
    .describe('Hourly budget of modules that run by themselves on this cell.'),
  modules: z
    .record(
      z
        .string()
        .max(64)
        .regex(/^[a-z0-9-]+$/),
      z.record(z.string().max(64), z.json()),
    )
    .meta({ secret: true })
    .default({})
    .describe('Settings of modules by their id, such as credentials.'),
})
export type DiscoveryConfig = z.infer<typeof DiscoveryConfig>
