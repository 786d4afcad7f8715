import * as z from 'zod'
import { TrustBody } from '../../../../../shared/wire/trust.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import type { IdentityViews } from '../../open-identity.ts'

export default defineOperation({
  id: 'signing-key-show',
  description: "Show the coordinator's public signing key and its predecessors.",
  method: 'GET',
  path: '/v1/signing-key',
  access: 'operator',
  effect: 'read',
  tool: false,
  input: z.strictObject({}),
  output: TrustBody,
  run: (_input, { identity }: IdentityViews) => identity.trust(),
})
