import * as z from 'zod'
import { defineLookup } from '../../module.ts'

const Text = z.string().max(256)

export const MatrixServer = z.strictObject({
  server_name: Text,
  client_base_url: z.string().max(2048).nullable(),
  federation_host: Text.nullable(),
  delegated_by: z.enum(['well_known', 'srv', 'default']).nullable(),
  software: z.string().max(64).nullable(),
  version: z.string().max(64).nullable(),
  spec_versions: z.array(z.string().max(32)).max(64),
  login_flows: z.array(z.string().max(64)).max(32),
  sso: z.boolean(),
  client_ok: z.boolean(),
  federation_ok: z.boolean(),
  errors: z.array(z.string().max(300)).max(8),
})
export type MatrixServer = z.infer<typeof MatrixServer>

export const MatrixServers = z.strictObject({ servers: z.array(MatrixServer).max(16) })
export type MatrixServers = z.infer<typeof MatrixServers>

export default defineLookup({
  id: 'matrix-discover',
  name: 'Matrix discovery',
  description: 'Check delegation, versions and login of the configured Matrix servers.',
  tags: ['community', 'matrix', 'chat'],
  access: 'operator',
  reach: 'internet',
  input: z.strictObject({}),
  examples: [{}],
  deadlineSeconds: 45,
  autoRun: { everySeconds: 3600, isPassive: false },
  data: MatrixServers,
})
