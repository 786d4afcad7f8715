import type { Operation } from '../../kernel/declaration/operation.ts'
import { declared } from './declared.ts'

/** Every operation that is not a skill, sorted by its group and id. */
export const operations: readonly Operation[] = declared.filter(each => !('card' in each))
