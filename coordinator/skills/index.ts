import { loadDeclared } from '../operations/load.ts'
import type { Skill } from './skill.ts'

/** Every skill on the agent card, sorted by its family and id. */
export const skills = await loadDeclared<Skill>(import.meta.dirname)
