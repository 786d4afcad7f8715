import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import * as z from 'zod'
import { ShoalError } from '../../../shared/errors.ts'
import { lazy } from '../../../shared/lazy.ts'
import { OPERATOR_ROLES } from '../../kernel/declaration/key.ts'

/** Role of an agent: the skills it works with, and the operator role in charge. */
const AgentRole = z.strictObject({
  id: z.string().regex(/^[a-z][a-z0-9-]*$/),
  title: z.string().min(1),
  purpose: z.string().min(1),
  /**
   * Operator role that decides at the gates of this work. It grants the agent no rights; those are
   * its key's.
   */
  operator_role: z.enum(OPERATOR_ROLES),
  /** Actions whose policy a briefing returns. */
  actions: z.array(z.string()),
  /** Skills in their usual order; with `*` every skill may be called. */
  skills: z.array(z.string()).min(1),
})
export type AgentRole = z.output<typeof AgentRole>

/** The roles in the order in which they are shown. */
export const listAgentRoles = lazy(
  (): readonly AgentRole[] =>
    z
      .strictObject({ roles: z.array(AgentRole).min(1) })
      .parse(parse(readFileSync(new URL('roles.yaml', import.meta.url), 'utf8'))).roles,
)

export const DEFAULT_ROLE = 'coding'

/** Maximum number of roles of a session; more would amount to role `administration`. */
const MAX_ROLES = 5

/** Throws `invalid_request` for an unknown role. */
export const roleOf = (id: string): AgentRole => {
  const role = listAgentRoles().find(each => each.id === id)
  if (role !== undefined) return role
  const all = listAgentRoles()
    .map(each => each.id)
    .join(', ')
  const message = `there is no role ${JSON.stringify(id)}; there are ${all}`
  throw new ShoalError('invalid_request', message, { param: 'role' })
}

/**
 * Parses roles such as `coding,testing`, each once. Throws `invalid_request` for none and for too
 * many.
 */
export const rolesIn = (text: string): AgentRole[] => {
  const ids = [...new Set(text.split(',').map(id => id.trim()))]
  if (ids.length > MAX_ROLES)
    throw new ShoalError('invalid_request', `at most ${MAX_ROLES} roles`, { param: 'role' })
  return ids.map(roleOf)
}

/** Returns those of the given roles that still exist. */
export const listKnownRoles = (ids: readonly string[]): AgentRole[] =>
  listAgentRoles().filter(({ id }) => ids.includes(id))

/** True when an agent in one of these roles may call a skill, as far as the role is concerned. */
export const hasSkillAccess = (roles: readonly AgentRole[], skillId: string): boolean =>
  roles.some(({ skills }) => skills.includes('*') || skills.includes(skillId))
