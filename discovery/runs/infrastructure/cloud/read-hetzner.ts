import * as z from 'zod'
import { readUtcTime } from '../../../fields/utc-time.ts'
import type { CloudResource } from '../../../modules/infrastructure/cloud-discover.ts'

/** Lists of the API, https://docs.hetzner.cloud. */
export const HETZNER_KINDS = [
  'servers',
  'networks',
  'volumes',
  'load_balancers',
  'floating_ips',
  'firewalls',
] as const
type Kind = (typeof HETZNER_KINDS)[number]

const KINDS: Readonly<Record<Kind, CloudResource['kind']>> = {
  servers: 'server',
  networks: 'network',
  volumes: 'volume',
  load_balancers: 'load_balancer',
  floating_ips: 'floating_ip',
  firewalls: 'firewall',
}

const GIB = 1024 ** 3
const Gigabytes = z.number().min(0).max(1e6).nullish()
const Address = z.object({ ip: z.string().nullish() }).nullish()

const Resource = z.object({
  id: z.union([z.number(), z.string()]),
  name: z.string().nullish(),
  status: z.string().nullish(),
  created: z.string().nullish(),
  labels: z.record(z.string(), z.string()).nullish(),
  location: z.object({ name: z.string() }).nullish(),
  home_location: z.object({ name: z.string() }).nullish(),
  public_net: z.object({ ipv4: Address, ipv6: Address }).nullish(),
  private_net: z.array(z.object({ ip: z.string().nullish() })).nullish(),
  /** Address of a floating IP. */
  ip: z.string().nullish(),
  /** Size of a volume, GB. */
  size: Gigabytes,
  server_type: z
    .object({
      cores: z.int().nullish(),
      memory: Gigabytes,
      disk: Gigabytes,
      prices: z
        .array(z.object({ location: z.string(), price_monthly: z.object({ net: z.string() }) }))
        .nullish(),
    })
    .nullish(),
})
type Resource = z.infer<typeof Resource>

export const readHetzner = (kind: Kind, body: unknown): CloudResource[] => {
  const list = z.record(z.string(), z.unknown()).parse(body)[kind]
  return z
    .array(z.unknown())
    .parse(list)
    .flatMap(each => Resource.safeParse(each).data ?? [])
    .map(each => toResource(KINDS[kind], each))
}

const toResource = (kind: CloudResource['kind'], each: Resource): CloudResource => {
  const { server_type: type, public_net: net } = each
  const region = (each.location ?? each.home_location)?.name ?? null
  const price = type?.prices?.find(({ location }) => location === region)?.price_monthly.net
  const floating = each.ip ?? undefined
  const ipv4 = [net?.ipv4?.ip, floating?.includes(':') ? undefined : floating]
  const ipv6 = [net?.ipv6?.ip, floating?.includes(':') ? floating : undefined]
  const diskGb = type?.disk ?? each.size
  return {
    id: String(each.id).slice(0, 64),
    kind,
    name: (each.name ?? '').slice(0, 256),
    status: each.status?.slice(0, 64) ?? null,
    region: region?.slice(0, 64) ?? null,
    created_at: readUtcTime(each.created),
    ipv4: listIps(ipv4),
    ipv6: listIps(ipv6),
    private_ips: listIps((each.private_net ?? []).map(({ ip }) => ip)),
    cpu_cores: type?.cores ?? null,
    memory_bytes: type?.memory ? Math.round(type.memory * GIB) : null,
    disk_bytes: diskGb ? Math.round(diskGb * GIB) : null,
    labels: trimLabels(each.labels ?? {}),
    monthly_cost_eur: price === undefined ? null : Number(price) || null,
  }
}

const listIps = (ips: readonly (string | null | undefined)[]): string[] =>
  ips.flatMap(ip => ip?.slice(0, 64) ?? []).slice(0, 16)

const trimLabels = (labels: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(labels)
      .slice(0, 64)
      .map(([key, value]) => [key.slice(0, 128), value.slice(0, 256)]),
  )
