import * as z from 'zod'
import { readUtcTime } from '../../../fields/utc-time.ts'
import type { CloudResource } from '../../../modules/infrastructure/cloud-discover.ts'

const Addresses = z
  .array(z.object({ ip_address: z.string(), type: z.string().nullish() }))
  .nullish()

const Droplet = z.object({
  id: z.union([z.number(), z.string()]),
  name: z.string().nullish(),
  status: z.string().nullish(),
  created_at: z.string().nullish(),
  vcpus: z.int().nullish(),
  /** MiB. */
  memory: z.int().nullish(),
  /** GiB. */
  disk: z.int().nullish(),
  region: z.object({ slug: z.string().nullish() }).nullish(),
  networks: z.object({ v4: Addresses, v6: Addresses }).nullish(),
  tags: z.array(z.string()).nullish(),
})

const Page = z.object({
  droplets: z.array(z.unknown()),
  links: z.object({ pages: z.object({ next: z.string().nullish() }).nullish() }).nullish(),
})

/** One page of droplets, https://docs.digitalocean.com/reference/api. */
export const readDroplets = (body: unknown): { resources: CloudResource[]; hasNext: boolean } => {
  const { droplets, links } = Page.parse(body)
  return {
    resources: droplets.flatMap(each => Droplet.safeParse(each).data ?? []).map(toResource),
    hasNext: Boolean(links?.pages?.next),
  }
}

const toResource = (droplet: z.infer<typeof Droplet>): CloudResource => {
  const { networks, memory, disk } = droplet
  const listIps = (addresses: z.infer<typeof Addresses>, type: string): string[] =>
    (addresses ?? [])
      .filter(each => each.type === type)
      .map(({ ip_address }) => ip_address.slice(0, 64))
      .slice(0, 16)
  return {
    id: String(droplet.id).slice(0, 64),
    kind: 'server',
    name: (droplet.name ?? '').slice(0, 256),
    status: droplet.status?.slice(0, 64) ?? null,
    region: droplet.region?.slug?.slice(0, 64) ?? null,
    created_at: readUtcTime(droplet.created_at),
    ipv4: listIps(networks?.v4, 'public'),
    ipv6: listIps(networks?.v6, 'public'),
    private_ips: listIps(networks?.v4, 'private'),
    cpu_cores: droplet.vcpus ?? null,
    memory_bytes: memory ? memory * 1024 ** 2 : null,
    disk_bytes: disk ? disk * 1024 ** 3 : null,
    labels: Object.fromEntries(
      (droplet.tags ?? []).slice(0, 64).map(tag => [tag.slice(0, 128), '']),
    ),
    monthly_cost_eur: null,
  }
}
