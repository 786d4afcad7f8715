import * as z from 'zod'

/** Objects of the Kubernetes API as far as they are read (kubernetes.io, "Kubernetes API"). */
const Metadata = z.object({
  name: z.string().max(253),
  namespace: z.string().max(253).optional(),
  uid: z.string().max(64),
  labels: z.record(z.string(), z.string()).nullish(),
  ownerReferences: z
    .array(z.object({ kind: z.string(), controller: z.boolean().optional() }))
    .nullish(),
})
const Quantities = z.record(z.string(), z.string()).nullish()

export const Version = z.object({ gitVersion: z.string(), platform: z.string().default('') })

export const Node = z.object({
  metadata: Metadata,
  spec: z.object({ unschedulable: z.boolean().optional() }).default({}),
  status: z.object({
    capacity: Quantities,
    conditions: z.array(z.object({ type: z.string(), status: z.string() })).nullish(),
    nodeInfo: z
      .object({
        kubeletVersion: z.string().default(''),
        osImage: z.string().default(''),
        containerRuntimeVersion: z.string().default(''),
        architecture: z.string().default(''),
      })
      .optional(),
    addresses: z.array(z.object({ type: z.string(), address: z.string() })).nullish(),
  }),
})
export type Node = z.infer<typeof Node>

export const Namespace = z.object({ metadata: Metadata })
export type Namespace = z.infer<typeof Namespace>

const Container = z.object({
  image: z.string().default(''),
  resources: z.object({ requests: Quantities, limits: Quantities }).nullish(),
})
const PodSpec = z.object({
  containers: z.array(Container).default([]),
  initContainers: z.array(Container).nullish(),
})
export type PodSpec = z.infer<typeof PodSpec>

export const Pod = z.object({
  metadata: Metadata,
  spec: PodSpec.optional(),
  status: z
    .object({
      phase: z.string().default('Unknown'),
      conditions: z.array(z.object({ type: z.string(), status: z.string() })).nullish(),
    })
    .default({ phase: 'Unknown' }),
})
export type Pod = z.infer<typeof Pod>

export const Service = z.object({
  metadata: Metadata,
  spec: z.object({
    type: z.string().default('ClusterIP'),
    clusterIP: z.string().optional(),
    ports: z
      .array(
        z.object({
          name: z.string().optional(),
          port: z.int(),
          protocol: z.string().default('TCP'),
          nodePort: z.int().optional(),
        }),
      )
      .nullish(),
  }),
})
export type Service = z.infer<typeof Service>

const Template = z.object({ spec: PodSpec }).optional()

/** A Deployment or a StatefulSet: both count their pods in the same fields. */
export const ReplicaWorkload = z.object({
  metadata: Metadata,
  spec: z.object({ replicas: z.int().nonnegative().default(1), template: Template }),
  status: z.object({ readyReplicas: z.int().nonnegative().optional() }).default({}),
})
export type ReplicaWorkload = z.infer<typeof ReplicaWorkload>

/** A DaemonSet: the number of its pods follows from the nodes. */
export const DaemonSet = z.object({
  metadata: Metadata,
  spec: z.object({ template: Template }),
  status: z
    .object({
      desiredNumberScheduled: z.int().nonnegative().optional(),
      numberReady: z.int().nonnegative().optional(),
    })
    .default({}),
})
export type DaemonSet = z.infer<typeof DaemonSet>
