import type { GatePerson } from '../../coordinator/kernel/declaration/caller.ts'

const MINUTE_MS = 60_000
export const REQUEST_MINUTES = 60
export const APPROVAL_MINUTES = 15

/** Roles that the seats of a gate accept, one list for each seat. */
export type Seats = readonly (readonly string[])[]

export interface Actor extends GatePerson {
  revoked: boolean
}

/** Predicts the outcome of a request in another way than the gates count it. */
export interface Belief {
  gate: string
  seats: Seats
  requester: string
  /** Number of the plan. */
  plan: number
  approvedBy: Map<string, { key: Actor; at: number }>
  end?: 'blocked' | 'withdrawn' | 'superseded' | 'consumed'
  askedAt: number
  approvedAt?: number
}

/** End of the approval, in unix milliseconds. */
export const approvalEnd = ({ approvedAt = 0 }: Belief): number =>
  approvedAt + APPROVAL_MINUTES * MINUTE_MS

export const isOpen = (belief: Belief, now: number): boolean =>
  belief.end === undefined &&
  now <
    (belief.approvedAt === undefined
      ? belief.askedAt + REQUEST_MINUTES * MINUTE_MS
      : approvalEnd(belief))

export const mayJudge = ({ requester, seats }: Belief, actor: Actor): boolean =>
  actor.kind === 'person' &&
  actor.personId !== requester &&
  seats.flat().some(role => actor.roles.includes(role))

/** Takes an approval; true when the gate should take it too. */
export const approveIn = (belief: Belief, actor: Actor, now: number): boolean => {
  if (!mayJudge(belief, actor)) return false
  const lapsed = belief.end === undefined && !isOpen(belief, now)
  if (belief.approvedBy.has(actor.personId)) return !lapsed
  if (belief.approvedAt !== undefined || !isOpen(belief, now)) return false
  belief.approvedBy.set(actor.personId, { key: actor, at: now })
  const voters = [...belief.approvedBy.values()].map(({ key }) => key.roles)
  if (covers(belief.seats, voters)) belief.approvedAt = now
  return true
}

/** True when this person may use the approval for this plan now. */
export const mayUse = (belief: Belief, user: Actor, plan: number, now: number): boolean => {
  const live = [...belief.approvedBy.values()].filter(({ key }) => !key.revoked)
  return (
    belief.approvedAt !== undefined &&
    isOpen(belief, now) &&
    plan === belief.plan &&
    user.personId === belief.requester &&
    covers(
      belief.seats,
      live.map(({ key }) => key.roles),
    )
  )
}

/** Every order in which people could take the seats, tried out. */
const covers = (seats: Seats, voters: Seats): boolean =>
  permutations(voters, seats.length).some(order =>
    order.every((roles, n) => roles.some(role => seats[n]?.includes(role))),
  )

const permutations = <T>(list: readonly T[], length: number): T[][] =>
  length === 0
    ? [[]]
    : list.flatMap((item, at) =>
        permutations(
          list.filter((_, other) => other !== at),
          length - 1,
        ).map(rest => [item, ...rest]),
      )
