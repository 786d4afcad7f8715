import type * as z from 'zod'
import type { DockerRow } from '../../../modules/infrastructure/docker-inventory.ts'
import type { Container, Image, Info, Network, Volume } from './engine-answers.ts'

export type InventoryRow = z.infer<typeof DockerRow>
type ContainerFacts = NonNullable<InventoryRow['container']>

const EMPTY = { engine: null, container: null, image: null, network: null, volume: null }

export const engineRow = (
  info: Info,
  facts: Pick<NonNullable<InventoryRow['engine']>, 'product' | 'version' | 'api_version'>,
): InventoryRow => ({
  ...EMPTY,
  kind: 'engine',
  id: facts.product,
  name: cut(info.Name || facts.product, 256),
  engine: {
    ...facts,
    os: cut(info.OperatingSystem, 256),
    kernel: cut(info.KernelVersion, 256),
    cpus: info.NCPU,
    memory_bytes: info.MemTotal,
    gpu_runtime: hasGpuRuntime(info),
    swarm_state: info.Swarm ? cut(info.Swarm.LocalNodeState, 32) : null,
  },
})

/** A runtime of NVIDIA, or a device of the Container Device Interface such as `nvidia.com/gpu=0`. */
export const hasGpuRuntime = ({ Runtimes, DiscoveredDevices }: Info): boolean =>
  Object.keys(Runtimes ?? {}).some(name => name.includes('nvidia')) ||
  (DiscoveredDevices ?? []).some(({ ID }) => /\/gpu=/.test(ID))

export const containerRow = (container: Container, hasGpus: boolean): InventoryRow => {
  const labels = container.Labels ?? {}
  const known = Object.entries(labels).filter(([key]) => isPublic(key))
  const facts: ContainerFacts = {
    image: cut(container.Image, 512),
    state: cut(container.State, 32),
    health: healthOf(container),
    created_at: toTime(container.Created),
    ports: (container.Ports ?? []).slice(0, 256).map(port => ({
      ip: port.IP ? cut(port.IP, 64) : null,
      private: port.PrivatePort,
      public: port.PublicPort ?? null,
      protocol: port.Type,
    })),
    networks: Object.entries(container.NetworkSettings?.Networks ?? {})
      .slice(0, 64)
      .map(([name, { IPAddress }]) => ({ name: cut(name, 256), ip: IPAddress || null })),
    mounts: (container.Mounts ?? []).slice(0, 64).map(mount => ({
      type: cut(mount.Type, 16),
      source: cut(mount.Source, 1024),
      destination: cut(mount.Destination, 1024),
      is_writable: mount.RW,
    })),
    compose_project: cutOrNull(labels['com.docker.compose.project']),
    has_gpu: hasGpus ? null : false,
    label_keys: Object.keys(labels)
      .slice(0, 128)
      .map(key => cut(key, 256)),
    labels: Object.fromEntries(
      known.slice(0, 64).map(([key, value]) => [cut(key, 256), cut(value, 512)]),
    ),
  }
  const name = container.Names?.[0]?.replace(/^\//, '') ?? shortId(container.Id)
  const id = shortId(container.Id)
  return { ...EMPTY, kind: 'container', id, name: cut(name, 256), container: facts }
}

export const imageRow = ({ Id, RepoTags, Size, Created }: Image): InventoryRow => {
  const tags = (RepoTags ?? []).filter(tag => tag !== '<none>:<none>').slice(0, 64)
  const image = {
    tags: tags.map(tag => cut(tag, 512)),
    size_bytes: Size,
    created_at: toTime(Created),
  }
  return { ...EMPTY, kind: 'image', id: shortId(Id), name: cut(tags[0] ?? shortId(Id), 256), image }
}

export const networkRow = ({ Id, Name, Driver, Scope, Internal, IPAM }: Network): InventoryRow => ({
  ...EMPTY,
  kind: 'network',
  id: shortId(Id),
  name: cut(Name, 256),
  network: {
    driver: cut(Driver, 64),
    scope: cut(Scope, 32),
    is_internal: Internal,
    subnets: (IPAM?.Config ?? []).flatMap(({ Subnet }) => Subnet ?? []).slice(0, 32),
  },
})

export const volumeRow = ({ Name, Driver, Mountpoint }: Volume): InventoryRow => ({
  ...EMPTY,
  kind: 'volume',
  id: cut(Name, 128),
  name: cut(Name, 256),
  volume: { driver: cut(Driver, 64), mountpoint: cut(Mountpoint, 1024) },
})

/** Labels whose values are documented and hold no secrets; others are up to their author. */
const isPublic = (key: string): boolean =>
  key.startsWith('com.docker.compose.') || key.startsWith('org.opencontainers.')

/**
 * Health of a container. Before version 1.52 it stands in the text of the status: `Up 4 days
 * (healthy)`.
 */
const healthOf = ({ Health, Status }: Container): ContainerFacts['health'] => {
  const told = Health?.Status ?? /\((?:health: )?(starting|healthy|unhealthy)\)/.exec(Status)?.[1]
  return HEALTHS.find(each => each === told) ?? 'none'
}
const HEALTHS = ['starting', 'healthy', 'unhealthy'] as const

const shortId = (id: string): string => id.replace(/^sha256:/, '').slice(0, 12)

/** Latest time of the format, in seconds. */
const MAX_SECONDS = 253_402_300_799

const toTime = (seconds: number): string =>
  new Date(Math.min(MAX_SECONDS, Math.max(0, seconds)) * 1000).toISOString()

const cut = (text: string, length: number): string => text.slice(0, length)

const cutOrNull = (text: string | undefined): string | null =>
  text === undefined ? null : cut(text, 256)
