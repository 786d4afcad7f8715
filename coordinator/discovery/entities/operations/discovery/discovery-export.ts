import * as z from 'zod'
import type { Context } from '../../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import { EXPORT_FORMATS, EXPORTS } from '../../export-formats.ts'
import type { EntityViews } from '../../open-entities.ts'
import { ENTITY_FILTER } from './entity-view.ts'

export default defineOperation({
  id: 'discovery-export',
  description: 'Export all entities as JSON, CSV, JSON Lines, or a CycloneDX 1.6 inventory.',
  method: 'GET',
  path: '/a2a/discovery/export',
  access: 'operator',
  effect: 'read',
  tool: false,
  timeoutSeconds: 3600,
  cli: { group: 'discover', verb: 'export' },
  input: z.strictObject({
    ...ENTITY_FILTER,
    format: z.enum(EXPORT_FORMATS).default('json').describe('Format of the export.'),
  }),
  output: z.object({}),
  sendsText: EXPORT_FORMATS.map(format => EXPORTS[format].mediaType.split(';', 1)[0] ?? ''),
  run: async (
    { format, ...filter },
    { exportEntities, key, tell, signal }: Context & EntityViews,
  ) => {
    const event = EXPORTS[format].mediaType
    for await (const data of exportEntities({ format, filter, keyId: key?.id })) {
      await tell?.({ event, data })
      signal.throwIfAborted()
    }
    return {}
  },
})
