import * as z from 'zod'
import { iso } from '../../../../../shared/time.ts'
import type { JoinToken } from '../../join-tokens.ts'

/** Tags in the form that cells announce (`shared/wire/announce.ts`). */
export const Tags = z.array(z.string().min(1).max(64)).max(64)

export const TokenView = z.object({
  id: z.string(),
  role: z.literal('cell'),
  /** Tags for the cells that join with the token. */
  tags: z.array(z.string()),
  uses: z.int(),
  uses_left: z.int(),
  created_at: z.iso.datetime(),
  expires_at: z.iso.datetime(),
  revoked_at: z.iso.datetime().nullable(),
})

export const tokenViewOf = (token: JoinToken): z.input<typeof TokenView> => ({
  id: token.id,
  role: token.role,
  tags: token.tags,
  uses: token.uses,
  uses_left: token.usesLeft,
  created_at: iso(token.createdAt),
  expires_at: iso(token.expiresAt),
  revoked_at: token.revokedAt === undefined ? null : iso(token.revokedAt),
})
