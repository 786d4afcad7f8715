import { ShoalError } from '../../shared/errors.ts'
import type { Operation } from '../operations/operation.ts'

const PARAM = 'toolsets'

/**
 * Returns the tools that a client requested: `?toolsets=fleet,gates` narrows the list to groups,
 * named by the folder of their declarations; `skills` is the group of the agent card. Returns every
 * tool without the parameter. Throws `invalid_request` for an unknown group.
 */
export const chosenTools = (
  query: unknown,
  operations: readonly Operation[],
): readonly Operation[] => {
  const wanted = groupsIn(query)
  if (wanted === undefined) return operations
  const unknown = wanted.find(group => !operations.some(each => isIn(group, each)))
  if (unknown !== undefined)
    throw new ShoalError(
      'invalid_request',
      `no toolset ${JSON.stringify(unknown)}; the toolsets are ${toolsetsOf(operations).join(', ')}`,
      { param: PARAM },
    )
  return operations.filter(each => wanted.some(group => isIn(group, each)))
}

const groupsIn = (query: unknown): string[] | undefined => {
  const text = (query as Record<string, unknown> | undefined)?.[PARAM]
  if (text === undefined) return undefined
  if (typeof text !== 'string' || text.length > 1000)
    throw new ShoalError(
      'invalid_request',
      'toolsets must be given once, as comma-separated names',
      {
        param: PARAM,
      },
    )
  return text.split(',').map(name => name.trim())
}

const isIn = (group: string, operation: Operation): boolean =>
  operation.group === group || (group === 'skills' && isSkill(operation))

const isSkill = ({ path }: Operation): boolean => path.startsWith('/v1/skills/')

/** The names of all groups, sorted. */
const toolsetsOf = (operations: readonly Operation[]): string[] =>
  [...new Set(['skills', ...operations.flatMap(({ group }) => group ?? [])])].sort()
