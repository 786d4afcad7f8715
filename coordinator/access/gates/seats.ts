import type { Voter } from '../../kernel/declaration/gate-request.ts'

/**
 * True when every seat can be given to a different person who has one of its roles. A person with
 * several roles takes one seat, the most useful one.
 */
export const areSeatsFilled = (
  seats: readonly (readonly string[])[],
  voters: readonly Voter[],
): boolean => {
  const [seat, ...rest] = seats
  if (seat === undefined) return true
  return voters
    .filter(({ roles }) => roles.some(role => seat.includes(role)))
    .some(({ personId }) =>
      areSeatsFilled(
        rest,
        voters.filter(voter => voter.personId !== personId),
      ),
    )
}

/** Least number of further approvals that are needed. */
export const openSeats = (
  seats: readonly (readonly string[])[],
  voters: readonly Voter[],
): number => {
  const [seat, ...rest] = seats
  if (seat === undefined) return 0
  const without = 1 + openSeats(rest, voters)
  const taken = voters
    .filter(({ roles }) => roles.some(role => seat.includes(role)))
    .map(({ personId }) =>
      openSeats(
        rest,
        voters.filter(voter => voter.personId !== personId),
      ),
    )
  return Math.min(without, ...taken)
}
