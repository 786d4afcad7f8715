import { loadDeclared } from '../operations/load.ts'
import { MODULE_SKILLS } from './module-skills.ts'
import type { Skill } from './skill.ts'

const declared = await loadDeclared<Skill>(import.meta.dirname)

const compareGroups = ({ group: a = '' }: Skill, { group: b = '' }: Skill): number =>
  a === b ? 0 : a < b ? -1 : 1

/** Every skill on the agent card, sorted by its family and id; the modules follow their family. */
export const skills: readonly Skill[] = [...declared, ...MODULE_SKILLS].toSorted(compareGroups)
