import * as z from 'zod'
import { defineScan } from '../../module.ts'
import type { ServiceFact, Sighting } from '../../sighting.ts'

const Text = z.string().max(256)

const Engine = z.strictObject({
  product: z.enum(['docker', 'podman']),
  version: z.string().max(64),
  api_version: z.string().max(16).describe('Version that the requests were made with.'),
  os: Text,
  kernel: Text,
  cpus: z.int().nonnegative(),
  memory_bytes: z.number().nonnegative(),
  gpu_runtime: z.boolean().describe('A runtime or device for GPUs is configured.'),
  swarm_state: z.string().max(32).nullable(),
})

const Port = z.strictObject({
  ip: z.string().max(64).nullable(),
  private: z.int().min(0).max(65_535),
  public: z.int().min(0).max(65_535).nullable(),
  protocol: z.enum(['tcp', 'udp', 'sctp']),
})

const Container = z.strictObject({
  image: z.string().max(512),
  state: z.string().max(32),
  health: z.enum(['none', 'starting', 'healthy', 'unhealthy']).nullable(),
  created_at: z.iso.datetime(),
  ports: z.array(Port).max(256),
  networks: z.array(z.strictObject({ name: Text, ip: z.string().max(64).nullable() })).max(64),
  mounts: z
    .array(
      z.strictObject({
        type: z.string().max(16),
        source: z.string().max(1024),
        destination: z.string().max(1024),
        is_writable: z.boolean(),
      }),
    )
    .max(64),
  compose_project: Text.nullable(),
  has_gpu: z.boolean().nullable().describe('Null when the engine does not report it.'),
  label_keys: z.array(Text).max(128).describe('Values can be secrets and are omitted.'),
  labels: z
    .record(Text, z.string().max(512))
    .describe('Values of labels of compose files and of the Open Container Initiative.'),
})

const Image = z.strictObject({
  tags: z.array(z.string().max(512)).max(64),
  size_bytes: z.number().nonnegative(),
  created_at: z.iso.datetime(),
})

const Network = z.strictObject({
  driver: z.string().max(64),
  scope: z.string().max(32),
  is_internal: z.boolean(),
  subnets: z.array(z.string().max(64)).max(32),
})

const Volume = z.strictObject({
  driver: z.string().max(64),
  mountpoint: z.string().max(1024),
})

export const DockerRow = z.strictObject({
  kind: z.enum(['engine', 'container', 'image', 'network', 'volume']),
  id: z.string().max(128).describe('First 12 digits of the identifier; the name of a volume.'),
  name: Text,
  engine: Engine.nullable().describe('Only of kind `engine`; likewise for the fields below.'),
  container: Container.nullable(),
  image: Image.nullable(),
  network: Network.nullable(),
  volume: Volume.nullable(),
})
type Row = z.infer<typeof DockerRow>

export default defineScan({
  id: 'docker-inventory',
  name: 'Docker inventory',
  description: 'List containers, images, networks and volumes of the container engine of a cell.',
  tags: ['infrastructure', 'containers', 'docker', 'podman'],
  access: 'operator',
  reach: 'host',
  input: z.strictObject({}),
  examples: [{}],
  deadlineSeconds: 30,
  autoRun: { everySeconds: 300, isPassive: true },
  row: DockerRow,
  observe: row => (row.container === null ? [] : [sightingOf(row, row.container)]),
})

const sightingOf = ({ id, name }: Row, container: z.infer<typeof Container>): Sighting => ({
  keys: [{ kind: 'container_id', value: id }],
  facts: {
    name,
    model: container.image.slice(0, 256),
    claimed_types: ['container'],
    services: container.ports.flatMap(listServices).slice(0, 64),
  },
})

/**
 * Lists the services of a container. Only a published port can be reached from outside the host.
 */
const listServices = (port: z.infer<typeof Port>): ServiceFact[] => {
  if (port.public === null || port.public === 0 || port.protocol === 'sctp') return []
  return [
    {
      port: port.public,
      transport: port.protocol,
      name: 'container',
      product: null,
      version: null,
      is_encrypted: null,
      is_open: null,
    },
  ]
}
