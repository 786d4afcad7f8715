import type * as z from 'zod'
import type { KubernetesRow } from '../../../modules/infrastructure/k8s-discover.ts'
import type {
  DaemonSet,
  Namespace,
  Node,
  Pod,
  PodSpec,
  ReplicaWorkload,
  Service,
} from './kube-objects.ts'
import { countUnits } from './parse-quantity.ts'

export type ClusterRow = z.infer<typeof KubernetesRow>
type Pods = NonNullable<ClusterRow['pods']>

interface Metadata {
  name: string
  namespace?: string | undefined
  uid: string
}

const cut = (text: string, length: number): string => text.slice(0, length)

/** Fields that every row has; `kind` names the one that is filled. */
const createRow = (
  server: string,
  { name, namespace, uid }: Metadata,
): Omit<ClusterRow, 'kind'> => ({
  ...{ api_server: server, uid, namespace: namespace ?? null, name },
  ...{ cluster: null, node: null, pods: null, workload: null, service: null },
})

export const clusterRow = (
  server: string,
  uid: string | null,
  cluster: NonNullable<ClusterRow['cluster']>,
): ClusterRow => ({
  ...createRow(server, { name: cut(new URL(server).host, 253), uid: '' }),
  ...{ kind: 'cluster', uid, cluster },
})

/** Label keys end with the role (Kubernetes documentation, "Well-Known Labels"). */
const ROLE = 'node-role.kubernetes.io/'

export const nodeRow = (server: string, { metadata, spec, status }: Node): ClusterRow => {
  const { capacity, nodeInfo } = status
  const roles = Object.keys(metadata.labels ?? {}).filter(key => key.startsWith(ROLE))
  return {
    ...createRow(server, metadata),
    kind: 'node',
    node: {
      is_ready: isReady(status.conditions),
      is_schedulable: spec.unschedulable !== true,
      roles: roles.slice(0, 16).map(key => cut(key.slice(ROLE.length), 128)),
      cpu_cores: countUnits(capacity?.cpu),
      memory_bytes: countUnits(capacity?.memory),
      gpus: countGpus(capacity),
      kubelet: cut(nodeInfo?.kubeletVersion ?? '', 64),
      runtime: cut(nodeInfo?.containerRuntimeVersion ?? '', 128),
      os: cut(nodeInfo?.osImage ?? '', 256),
      architecture: cut(nodeInfo?.architecture ?? '', 32),
      addresses: (status.addresses ?? []).slice(0, 32).map(({ address }) => cut(address, 253)),
    },
  }
}

const isReady = (conditions: Node['status']['conditions']): boolean =>
  (conditions ?? []).some(({ type, status }) => type === 'Ready' && status === 'True')

const hasEnded = ({ phase }: Pod['status']): boolean => phase === 'Succeeded' || phase === 'Failed'

/** Device plugins name GPUs `nvidia.com/gpu`, `amd.com/gpu` and `gpu.intel.com/i915`. */
const countGpus = (quantities: Record<string, string> | null | undefined): number =>
  Object.entries(quantities ?? {})
    .filter(([name]) => name.endsWith('/gpu') || name.startsWith('gpu.intel.com/'))
    .reduce((sum, [, quantity]) => sum + countUnits(quantity), 0)

/** Counts pods by their phase; those that have ended hold no GPU any more. */
export const countPods = (pods: readonly Pod[]): Pods => {
  const phases = pods.map(({ status }) => status.phase)
  const count = (phase: string): number => phases.filter(each => each === phase).length
  const alive = pods.filter(({ status }) => !hasEnded(status))
  return {
    total: pods.length,
    running: count('Running'),
    pending: count('Pending'),
    failed: count('Failed'),
    gpu_requests: alive
      .flatMap(({ spec }) => spec?.containers ?? [])
      .reduce((sum, { resources }) => sum + countGpus(resources?.requests ?? resources?.limits), 0),
  }
}

/** `pods` are those of the namespace; null when pods may not be listed. */
export const namespaceRow = (
  server: string,
  { metadata }: Namespace,
  pods: readonly Pod[] | null,
): ClusterRow => ({
  ...createRow(server, metadata),
  kind: 'namespace',
  pods: pods === null ? null : countPods(pods),
})

type Workload = NonNullable<ClusterRow['workload']>

const workloadRow = (server: string, metadata: Metadata, workload: Workload): ClusterRow => ({
  ...createRow(server, metadata),
  kind: 'workload',
  workload,
})

export const replicaRow = (
  server: string,
  kind: 'deployment' | 'stateful_set',
  { metadata, spec, status }: ReplicaWorkload,
): ClusterRow =>
  workloadRow(server, metadata, {
    kind,
    replicas: spec.replicas,
    ready: status.readyReplicas ?? 0,
    images: listImages(spec.template?.spec),
  })

export const daemonSetRow = (server: string, { metadata, spec, status }: DaemonSet): ClusterRow =>
  workloadRow(server, metadata, {
    kind: 'daemon_set',
    replicas: status.desiredNumberScheduled ?? 0,
    ready: status.numberReady ?? 0,
    images: listImages(spec.template?.spec),
  })

/** Controllers that have rows of their own; a Deployment owns its pods through a ReplicaSet. */
const LISTED_OWNERS = new Set(['ReplicaSet', 'StatefulSet', 'DaemonSet'])

/** True for a pod that has not ended and whose images no other workload lists. */
export const isOwnWorkload = ({ metadata, status }: Pod): boolean =>
  !hasEnded(status) &&
  !(metadata.ownerReferences ?? []).some(
    ({ kind, controller }) => controller === true && LISTED_OWNERS.has(kind),
  )

export const podRow = (server: string, { metadata, spec, status }: Pod): ClusterRow =>
  workloadRow(server, metadata, {
    kind: 'pod',
    replicas: 1,
    ready: isReady(status.conditions) ? 1 : 0,
    images: listImages(spec),
  })

const listImages = (spec: PodSpec | undefined): string[] => {
  const containers = [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])]
  return [...new Set(containers.map(({ image }) => cut(image, 512)))].slice(0, 32)
}

export const serviceRow = (server: string, { metadata, spec }: Service): ClusterRow => ({
  ...createRow(server, metadata),
  kind: 'service',
  service: {
    type: cut(spec.type, 32),
    cluster_ip:
      spec.clusterIP === undefined || spec.clusterIP === 'None' ? null : cut(spec.clusterIP, 64),
    ports: (spec.ports ?? []).slice(0, 256).map(({ name, port, protocol, nodePort }) => ({
      name: name === undefined ? null : cut(name, 63),
      port,
      protocol: cut(protocol, 8),
      node_port: nodePort ?? null,
    })),
  },
})
