import { MODULE_SKILLS } from '../../discovery/modules/module-skills.ts'
import type { Operation } from '../../kernel/declaration/operation.ts'
import type { Skill } from '../../kernel/declaration/skill.ts'
import { declared } from './declared.ts'

const isSkill = (operation: Operation): operation is Skill => 'card' in operation

const compareGroups = ({ group: a = '' }: Skill, { group: b = '' }: Skill): number =>
  a === b ? 0 : a < b ? -1 : 1

/** Every skill on the agent card, sorted by its family and id; the modules follow their family. */
export const skills: readonly Skill[] = [...declared.filter(isSkill), ...MODULE_SKILLS].toSorted(
  compareGroups,
)
