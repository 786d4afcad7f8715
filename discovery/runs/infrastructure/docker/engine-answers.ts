import * as z from 'zod'

/** Answers of the Engine API (docs.docker.com, "Docker Engine API", 1.41 to 1.56). */
const Texts = z.record(z.string(), z.string())

export const Info = z.object({
  NCPU: z.int().nonnegative().default(0),
  MemTotal: z.number().nonnegative().default(0),
  OperatingSystem: z.string().default(''),
  KernelVersion: z.string().default(''),
  Name: z.string().default(''),
  Runtimes: z.record(z.string(), z.unknown()).nullish(),
  DiscoveredDevices: z.array(z.object({ ID: z.string().default('') })).nullish(),
  Swarm: z.object({ LocalNodeState: z.string() }).nullish().catch(null),
})
export type Info = z.infer<typeof Info>

export const Container = z.object({
  Id: z.string().min(12),
  Names: z.array(z.string()).nullish(),
  Image: z.string().default(''),
  Created: z.number(),
  State: z.string(),
  Status: z.string().default(''),
  Health: z.object({ Status: z.string() }).nullish().catch(null),
  Labels: Texts.nullish(),
  Ports: z
    .array(
      z.object({
        IP: z.string().nullish(),
        PrivatePort: z.int().min(0).max(65_535),
        PublicPort: z.int().min(0).max(65_535).nullish(),
        Type: z.enum(['tcp', 'udp', 'sctp']).catch('tcp'),
      }),
    )
    .nullish(),
  NetworkSettings: z
    .object({
      Networks: z.record(z.string(), z.object({ IPAddress: z.string().nullish() })).nullish(),
    })
    .nullish(),
  Mounts: z
    .array(
      z.object({
        Type: z.string().default('bind'),
        Source: z.string().default(''),
        Destination: z.string().default(''),
        RW: z.boolean().default(true),
      }),
    )
    .nullish(),
})
export type Container = z.infer<typeof Container>

export const Image = z.object({
  Id: z.string().min(12),
  RepoTags: z.array(z.string()).nullish(),
  Created: z.number(),
  Size: z.number().nonnegative(),
})
export type Image = z.infer<typeof Image>

export const Network = z.object({
  Id: z.string().min(12),
  Name: z.string(),
  Driver: z.string().default(''),
  Scope: z.string().default(''),
  Internal: z.boolean().default(false),
  IPAM: z
    .object({ Config: z.array(z.object({ Subnet: z.string().optional() })).nullish() })
    .nullish(),
})
export type Network = z.infer<typeof Network>

export const Volume = z.object({
  Name: z.string(),
  Driver: z.string().default(''),
  Mountpoint: z.string().default(''),
})
export type Volume = z.infer<typeof Volume>
