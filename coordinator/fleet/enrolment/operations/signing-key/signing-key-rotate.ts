import * as z from 'zod'
import { TrustBody } from '../../../../../shared/wire/trust.ts'
import type { Context } from '../../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import type { IdentityViews } from '../../open-identity.ts'

export default defineOperation({
  id: 'signing-key-rotate',
  description: "Replace the coordinator's signing key. The old key signs the new one.",
  method: 'POST',
  path: '/v1/signing-key/rotate',
  access: 'operator',
  roles: ['operator_admin'],
  effect: 'write',
  tool: false,
  input: z.strictObject({}),
  output: TrustBody,
  run: (_input, { identity, actor }: Context & IdentityViews) => identity.rotateKey(actor),
})
