import * as z from 'zod'
import { defineView, own } from '../../../../kernel/declaration/define-view.ts'
import { joinTokenTable } from '../../join-token.table.ts'
import type { JoinToken } from '../../join-tokens.ts'

/** Tags in the form that cells announce (`shared/wire/announce.ts`). */
export const Tags = z.array(z.string().min(1).max(64)).max(64)

const view = defineView(joinTokenTable, {
  id: true,
  role: own(z.literal('cell'), ({ role }: JoinToken) => role),
  tags: true,
  uses: true,
  uses_left: true,
  created_at: true,
  expires_at: true,
  revoked_at: true,
})
export const TokenView = view.schema
export const tokenViewOf = view.of
