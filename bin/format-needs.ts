const HEAD = `// Made by \`npm run docs\` from the folders of operations; do not edit it by hand.
// The compiler refuses the line of a file whose operations need a view that no part provides.
import type { Views } from '../../coordinator/assembly/coordinator.ts'
import type { Context } from '../../coordinator/kernel/declaration/context.ts'
import type { Operation } from '../../coordinator/kernel/declaration/operation.ts'

/** Context with which every operation is called. */
type All = Context & Views
type NeedsOf<O> = O extends readonly (infer One)[]
  ? NeedsOf<One>
  : O extends Operation<infer Needs>
    ? Needs
    : never
type Met<O, _Given extends NeedsOf<O>> = O

export type Operations = [
`

/** The skills of discovery modules, which are made from a list in place of files. */
const MODULES = ['discovery/modules/module-skills.ts', 'MODULE_SKILLS'] as const

/** A list of types that compiles only while every operation of these files gets what it needs. */
export const formatNeeds = (files: readonly string[]): string =>
  `${HEAD}${[...files.map(file => line(file, 'default')), line(...MODULES)].join('')}]\n`

const LINE_WIDTH = 100

const line = (file: string, name: string): string => {
  const type = `typeof import('../../coordinator/${file}').${name}`
  const whole = `  Met<${type}, All>,`
  return whole.length <= LINE_WIDTH ? `${whole}\n` : `  Met<\n    ${type},\n    All\n  >,\n`
}
