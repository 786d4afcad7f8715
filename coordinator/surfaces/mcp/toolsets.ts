import { ShoalError } from '../../../shared/errors.ts'
import type { Key, Role } from '../../kernel/declaration/key.ts'
import type { Operation } from '../../kernel/declaration/operation.ts'

const PARAM = 'toolsets'
const SCHEMAS_PARAM = 'schemas'

/** Toolset of the two tools that find and call all others. */
const FIND = 'find'
/** Toolset of what the roles of the key use. */
const ROLE = 'role'

/** Toolsets that each role works with; `access` still decides on every single tool. */
const ROLE_TOOLSETS: Readonly<Record<Role, readonly string[]>> = {
  client: ['models', 'tiers', 'usage', 'conversations', 'tasks'],
  builder: ['fleet', 'cells', 'alerts', 'routing', 'operations', 'queue', 'sessions', 'tasks'],
  reviewer: ['gates', 'audit', 'alerts', 'governance', 'tasks'],
  architect: ['fleet', 'devices', 'swarm', 'mqtt', 'discovery', 'graph', 'planning', 'gates'],
  finance: ['business', 'planning', 'usage', 'tiers', 'gates'],
  legal: ['governance', 'audit', 'gates'],
  operator_admin: ['fleet', 'cells', 'devices', 'alerts', 'gates', 'audit', 'operations', 'queue'],
}

/** Tools that a client requested. */
export interface ToolChoice {
  /** Operations that are listed and can be called by their name. */
  listed: readonly Operation[]
  /** True when find-tools and call-tool are listed, which reach every operation. */
  hasFinder: boolean
  /** True when the list has the schemas of outputs too. */
  hasOutputs: boolean
}

/**
 * Returns the tools that a client requested: `?toolsets=fleet,gates` narrows the list to groups,
 * named by the folder of their declarations; `skills` is the group of the agent card, `role` those
 * of the key's roles, and `find` the two tools that reach all others. Returns every tool without
 * the parameter. Throws `invalid_request` for an unknown group.
 */
export const chooseTools = (
  query: unknown,
  operations: readonly Operation[],
  { roles }: Pick<Key, 'roles'>,
): ToolChoice => {
  const hasOutputs = readSchemas(query)
  const wanted = readGroups(query)
  if (wanted === undefined) return { listed: operations, hasFinder: false, hasOutputs }
  const named = wanted.filter(group => group !== ROLE && group !== FIND)
  requireKnown(named, operations)
  const own = wanted.includes(ROLE) ? roles.flatMap(role => ROLE_TOOLSETS[role]) : []
  const groups = [...named, ...own]
  return {
    listed: operations.filter(each => groups.some(group => isIn(group, each))),
    hasFinder: wanted.includes(FIND),
    hasOutputs,
  }
}

/** The names of all groups, sorted. */
export const listGroups = (operations: readonly Operation[]): string[] =>
  [...new Set(['skills', ...operations.flatMap(({ group }) => group ?? [])])].sort()

const requireKnown = (groups: readonly string[], operations: readonly Operation[]): void => {
  const unknown = groups.find(group => !operations.some(each => isIn(group, each)))
  if (unknown === undefined) return
  const known = [FIND, ROLE, ...listGroups(operations)].join(', ')
  const message = `no toolset ${JSON.stringify(unknown)}; the toolsets are ${known}`
  throw new ShoalError('invalid_request', message, { param: PARAM })
}

const readGroups = (query: unknown): string[] | undefined => {
  const text = (query as Record<string, unknown> | undefined)?.[PARAM]
  if (text === undefined) return undefined
  if (typeof text === 'string' && text.length <= 1000)
    return text.split(',').map(name => name.trim())
  const message = 'toolsets must be given once, as comma-separated names'
  throw new ShoalError('invalid_request', message, { param: PARAM })
}

const readSchemas = (query: unknown): boolean => {
  const text = (query as Record<string, unknown> | undefined)?.[SCHEMAS_PARAM]
  if (text === undefined || text === 'full') return text === 'full'
  throw new ShoalError('invalid_request', 'schemas must be full, or omitted', {
    param: SCHEMAS_PARAM,
  })
}

const isIn = (group: string, operation: Operation): boolean =>
  operation.group === group || (group === 'skills' && isSkill(operation))

const isSkill = ({ path }: Operation): boolean => path.startsWith('/v1/skills/')
