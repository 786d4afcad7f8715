import * as z from 'zod'

/** Most addresses of a network that is added without force: those of a /22. */
export const MAX_SCOPE_ADDRESSES = 1024

/** Most entries of one document, or of one cell's file. */
export const MAX_SCOPE_ENTRIES = 256

/** Most subnets of its own that a cell announces. */
export const MAX_OWN_NETWORKS = 32

/** A network or a name that active probes may contact. */
export const ScopeEntry = z.strictObject({
  /** `192.168.1.0/24`, `2001:db8::1/128`, or the name of a host. */
  target: z
    .string()
    .max(253)
    .regex(/^[a-z0-9][a-z0-9.:-]{0,252}(\/[0-9]{1,3})?$/)
    .describe('Network, address or name of a host: `192.168.1.0/24`, `printer.lan`.'),
  /** Permission of an operator for a network larger than a /22. */
  is_forced: z.boolean().exactOptional(),
})
export type ScopeEntry = z.infer<typeof ScopeEntry>

/** Targets of active probes; loopback always belongs to it. */
export const ScanScope = z.strictObject({
  /** Entries of the settings and of the cell's own file. */
  entries: z.array(ScopeEntry).max(2 * MAX_SCOPE_ENTRIES),
  /** Networks of container bridges of the cell, which no entry can allow. */
  excluded: z.array(z.string().max(64)).max(MAX_SCOPE_ENTRIES).exactOptional(),
})
export type ScanScope = z.infer<typeof ScanScope>

/** Settings of discovery that the coordinator makes for cells. */
export const DiscoverySettings = z.strictObject({
  scope: z.array(ScopeEntry).max(MAX_SCOPE_ENTRIES).exactOptional(),
  /** True lets modules run by themselves: host and passive ones, and those of the LAN in the scope. */
  auto_run: z.boolean().exactOptional(),
})
export type DiscoverySettings = z.infer<typeof DiscoverySettings>
