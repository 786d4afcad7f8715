import { loadDeclared } from './load.ts'
import type { Operation } from './operation.ts'

/** Every operation that is not a skill, sorted by its group and id. */
export const operations = await loadDeclared<Operation>(import.meta.dirname)
