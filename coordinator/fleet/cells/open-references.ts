import type { ResolveReferences } from '../../calls/invoke/resolve-references.ts'
import type { CellNames } from './named-cells.ts'
import { createResolveCells } from './resolve-cells.ts'

interface OpenReferences {
  resolveReferences: ResolveReferences
}

/** Resolution of the cell names in the input of calls. */
export const openReferences = ({ cells, fleet }: CellNames): OpenReferences => ({
  resolveReferences: createResolveCells({ cells, fleet }),
})
