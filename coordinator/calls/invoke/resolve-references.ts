import type { Declaration } from '../../kernel/declaration/declaration.ts'
import type { Call } from './invocation.ts'

/**
 * Replaces names in a valid input, and beside it, by the ids that they mean, such as the names of
 * cells. Throws `conflict` for the name of several.
 */
export type ResolveReferences = (
  operation: Pick<Declaration, 'input'>,
  input: object,
  cellId: Call['cellId'],
) => Promise<{ input: object; cellId: Call['cellId'] }>
