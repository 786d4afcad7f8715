import * as z from 'zod'
import { iso } from '../../../../../shared/time.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import type { ReplicaViews } from '../../replica-states.ts'

const ReplicaView = z.object({
  id: z.string().describe('Id of the process, new at each of its starts.'),
  name: z
    .string()
    .nullable()
    .describe('Its replica.name, or the name of its machine; null for an older version.'),
  address: z
    .string()
    .nullable()
    .describe('URL that reaches this coordinator alone; null behind a shared address.'),
  version: z.string(),
  started_at: z.iso.datetime(),
  is_self: z.boolean().describe('This coordinator returned the list.'),
  leads: z.boolean().describe('It does the work that one coordinator does for all.'),
})

export default defineOperation({
  id: 'replicas-list',
  description: 'List the coordinators that serve the fleet now.',
  method: 'GET',
  path: '/v1/replicas',
  access: 'operator',
  effect: 'read',
  tool: false,
  input: z.strictObject({}),
  output: z.object({ replicas: z.array(ReplicaView) }),
  run: async (_input, { replicas }: ReplicaViews) => ({
    replicas: (await replicas.readStates()).map(replica => ({
      id: replica.id,
      name: replica.name ?? null,
      address: replica.address ?? null,
      version: replica.version,
      started_at: iso(replica.startedAt),
      is_self: replica.isSelf,
      leads: replica.leads,
    })),
  }),
})
