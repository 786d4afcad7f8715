import * as z from 'zod'
import { figure } from '../../../shared/unknown-fields.ts'
import { defineScan } from '../../module.ts'
import type { Sighting } from '../../sighting.ts'

/** Names of objects are DNS names (Kubernetes documentation, "Object Names and IDs"). */
const Name = z.string().max(253)
const Count = z.int().nonnegative()

const Pods = z.strictObject({
  total: Count,
  running: Count,
  pending: Count,
  failed: Count,
  gpu_requests: Count.describe('GPUs that running and pending pods request.'),
})

const Cluster = z.strictObject({
  is_reachable: z.boolean(),
  is_authenticated: z.boolean().describe('The server accepted the credentials of the cell.'),
  is_ready: figure(
    z.boolean().nullable().describe('Answer of `/readyz`.'),
    'the API server did not answer `/readyz`',
  ),
  version: z.string().max(64).nullable(),
  platform: z.string().max(64).nullable(),
  pods: figure(Pods.nullable(), 'the pods could not be listed'),
})

const Node = z.strictObject({
  is_ready: z.boolean(),
  is_schedulable: z.boolean(),
  roles: z.array(z.string().max(128)).max(16),
  cpu_cores: Count,
  memory_bytes: z.number().nonnegative(),
  gpus: Count,
  kubelet: z.string().max(64),
  runtime: z.string().max(128),
  os: z.string().max(256),
  architecture: z.string().max(32),
  addresses: z.array(z.string().max(253)).max(32),
})

const Workload = z.strictObject({
  kind: z
    .enum(['deployment', 'stateful_set', 'daemon_set', 'pod'])
    .describe('`pod`: one that belongs to no other workload of this list, such as that of a job.'),
  replicas: Count.describe('Desired number of pods.'),
  ready: Count,
  images: z.array(z.string().max(512)).max(32).describe('Of containers and init containers.'),
})

const Service = z.strictObject({
  type: z.string().max(32),
  cluster_ip: z.string().max(64).nullable(),
  ports: z
    .array(
      z.strictObject({
        name: z.string().max(63).nullable(),
        port: z.int(),
        protocol: z.string().max(8),
        node_port: z.int().nullable(),
      }),
    )
    .max(256),
})

export const KubernetesRow = z.strictObject({
  kind: z.enum(['cluster', 'node', 'namespace', 'workload', 'service']),
  api_server: z.string().max(512),
  uid: z
    .string()
    .max(64)
    .nullable()
    .describe('Identity of the object; of a cluster, that of its namespace `kube-system`.'),
  namespace: Name.nullable(),
  name: Name,
  cluster: Cluster.nullable().describe('Only of kind `cluster`; likewise for the fields below.'),
  node: Node.nullable(),
  pods: Pods.nullable().describe('Only of kind `namespace`; null when pods may not be listed.'),
  workload: Workload.nullable(),
  service: Service.nullable(),
})
type Row = z.infer<typeof KubernetesRow>

export default defineScan({
  id: 'k8s-discover',
  name: 'Kubernetes discovery',
  description:
    'Read version, nodes, namespaces, workloads with their images, and services of a Kubernetes cluster.',
  tags: ['infrastructure', 'containers', 'kubernetes', 'cluster'],
  access: 'operator',
  reach: 'lan',
  input: z.strictObject({
    api_server: z
      .url({ protocol: /^https$/ })
      .max(512)
      .exactOptional()
      .describe('API server: `https://10.0.0.10:6443`; that of the configuration when absent.'),
  }),
  examples: [{}, { api_server: 'https://10.0.0.10:6443' }],
  deadlineSeconds: 60,
  autoRun: { everySeconds: 600, isPassive: false },
  row: KubernetesRow,
  observe: row => listSightings(row),
})

const listSightings = (row: Row): Sighting[] => {
  if (row.node !== null && row.uid !== null) return [nodeSighting(row, row.uid, row.node)]
  if (row.cluster !== null && row.uid !== null)
    return [
      {
        keys: [{ kind: 'kubernetes_uid', value: row.uid }],
        facts: {
          name: row.name,
          claimed_types: ['kubernetes_cluster'],
          ...(row.cluster.version !== null && { firmware: row.cluster.version }),
        },
      },
    ]
  return []
}

const isAddress = (text: string): boolean => /^[0-9.]+$|:/.test(text)

const nodeSighting = (row: Row, uid: string, node: z.infer<typeof Node>): Sighting => {
  const addresses = node.addresses.filter(isAddress)
  return {
    keys: [
      { kind: 'kubernetes_uid', value: uid },
      ...addresses.slice(0, 16).map(value => ({ kind: 'ip' as const, value: value.toLowerCase() })),
      { kind: 'name', value: row.name.toLowerCase() },
    ],
    facts: {
      name: row.name,
      hostname: row.name,
      os: node.os,
      claimed_types: ['kubernetes_node'],
      ...(addresses.length > 0 && { ip_addresses: addresses }),
    },
  }
}
