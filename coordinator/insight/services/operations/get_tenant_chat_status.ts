import * as z from 'zod'
import { actsFor } from '../../../access/keys/key.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { DataState, dataState } from '../../../kernel/declaration/data-state.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import type { ServiceViews } from '../open.ts'

export default defineSkill({
  id: 'get_tenant_chat_status',
  group: 'fleet',
  name: 'Tenant chat status',
  description: 'Ask the Matrix homeservers of the tenants that your key may act for.',
  tags: ['tenants', 'matrix', 'chat'],
  access: 'operator',
  effect: 'read',
  openWorld: true,
  publishesInput: false,
  input: z.strictObject({}),
  output: z.object({
    data_state: DataState,
    up: z.int(),
    total: z.int(),
    servers: z.array(
      z.object({
        tenant_id: z.string(),
        url: z.string(),
        state: z
          .enum(['up', 'degraded', 'down', 'unknown'])
          .describe('`degraded`: the client API answers, login or federation does not.'),
        reason: z.string().nullable(),
        latency_ms: z.number(),
        software: z.string().nullable(),
        spec_versions: z.array(z.string()),
        login_flows: z.array(z.string()),
      }),
    ),
  }),
  toLoad: '`chat_servers` in the configuration of the coordinator; docs/flows.md',
  run: async (_input, { chatServers, key, signal }: Context & ServiceViews) => {
    const tenants = chatServers
      .tenants()
      .filter(tenant => key !== undefined && actsFor(key, tenant))
    const found = await Promise.all(tenants.map(tenant => chatServers.check(tenant, signal)))
    const servers = found.filter(server => server !== undefined)
    return {
      data_state: dataState(servers.length),
      up: servers.filter(({ state }) => state === 'up').length,
      total: servers.length,
      servers: servers.map(({ tenantId, latencyMs, versions, loginFlows, ...server }) => ({
        tenant_id: tenantId,
        url: server.url,
        state: server.state,
        reason: server.reason ?? null,
        latency_ms: latencyMs,
        software: server.software ?? null,
        spec_versions: versions,
        login_flows: loginFlows,
      })),
    }
  },
})
