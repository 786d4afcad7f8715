import cellsList from './cells/cells-list.ts'
import cellsRevoke from './cells/cells-revoke.ts'
import cellsShow from './cells/cells-show.ts'
import type { Operation } from './operation.ts'
import tokensCreate from './tokens/tokens-create.ts'
import tokensList from './tokens/tokens-list.ts'
import tokensRevoke from './tokens/tokens-revoke.ts'

/** Every operation that is not a skill, in the order in which lists show them. */
export const operations: readonly Operation[] = [
  cellsList,
  cellsShow,
  cellsRevoke,
  tokensList,
  tokensCreate,
  tokensRevoke,
]
