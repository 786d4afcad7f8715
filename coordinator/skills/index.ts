import type { Skill } from './skill.ts'

/** Every skill on the agent card, in its order. */
export const skills: readonly Skill[] = []
