import * as z from 'zod'

/** Answers of `ip -json` (ip(8)) that the network map reads; unknown fields pass. */
const Mac = z
  .string()
  .regex(/^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/i)
  .transform(mac => mac.toLowerCase())

const NeighbourEntry = z.object({
  dst: z.string(),
  dev: z.string(),
  lladdr: Mac.optional().catch(undefined),
  state: z.array(z.string()).default([]),
  /** Flag of a router advertisement: present, and null. */
  router: z.null().optional(),
})
export type NeighbourEntry = z.infer<typeof NeighbourEntry>

const Interface = z.object({
  ifname: z.string(),
  link_type: z.string().optional(),
  address: Mac.optional().catch(undefined),
  linkinfo: z.object({ info_kind: z.string().optional() }).optional(),
  addr_info: z
    .array(z.object({ local: z.string().optional(), prefixlen: z.number(), scope: z.string() }))
    .default([]),
})
export type Interface = z.infer<typeof Interface>

const Route = z.object({
  dst: z.string(),
  gateway: z.string().optional(),
  dev: z.string().optional(),
  nexthops: z
    .array(z.object({ gateway: z.string().optional(), dev: z.string().optional() }))
    .default([]),
})
export type Route = z.infer<typeof Route>

export const Neighbours = z.array(NeighbourEntry)
export const Interfaces = z.array(Interface)
export const Routes = z.array(Route)
