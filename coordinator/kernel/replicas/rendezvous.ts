import { hash32 } from '../base/hash32.ts'

/**
 * Returns the member with the highest weight for a subject (rendezvous hashing): all who know the
 * same members choose the same one, and a member that leaves moves only its own subjects. Undefined
 * without members.
 */
export const findOwner = (subject: string, members: readonly string[]): string | undefined => {
  let owner: string | undefined
  let highest = -1
  for (const member of members) {
    const weight = weightOf(subject, member)
    // equal weights are rare, and decided alike by everybody
    if (weight < highest || (weight === highest && member < (owner ?? ''))) continue
    highest = weight
    owner = member
  }
  return owner
}

/** Returns the members in the order in which they would own the subject, the owner first. */
export const rankMembers = (subject: string, members: readonly string[]): string[] =>
  members
    .map(member => ({ member, weight: weightOf(subject, member) }))
    .sort((a, b) => b.weight - a.weight || (a.member < b.member ? 1 : -1))
    .map(({ member }) => member)

const weightOf = (subject: string, member: string): number => hash32(subject, hash32(member))
