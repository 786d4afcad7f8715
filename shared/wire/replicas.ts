import * as z from 'zod'
import { REPLICA_ID } from '../ids.ts'

/** Most coordinators to which a cell stays connected at the same time. */
export const MAX_REPLICAS = 5

const ReplicaId = z.string().regex(REPLICA_ID)

/** Body of the `replicas` topic: the coordinators that live, the sender included. */
export const ReplicasBody = z.object({
  /** Sender of this message. */
  id: ReplicaId,
  replicas: z
    .array(
      z.object({
        id: ReplicaId,
        /** URL that reaches this coordinator alone; absent behind a shared address. */
        address: z.string().max(2048).exactOptional(),
      }),
    )
    .max(MAX_REPLICAS),
})
export type ReplicasBody = z.infer<typeof ReplicasBody>

/** Value of `HEADER_LINKED`. */
export const formatLinked = (ids: Iterable<string>): string => [...ids].join(',')

/** Replica ids in `HEADER_LINKED`; what is not one is left out. */
export const parseLinked = (value: string | undefined): string[] =>
  (value ?? '')
    .split(',', MAX_REPLICAS)
    .map(id => id.trim())
    .filter(id => REPLICA_ID.test(id))
