import type { Context } from '../../../kernel/declaration/context.ts'
import type { GateRequest } from '../../../kernel/declaration/gate-request.ts'
import { countAdministrators } from '../../keys/approvers.ts'
import type { KeyViews } from '../../keys/open.ts'
import type { GateViews } from '../open.ts'
import { stateAt } from '../request.ts'
import { areSeatsFilled } from '../seats.ts'

/**
 * What to do about a pending request that no person can approve, because the people with the roles
 * of its gate are missing; undefined when they exist.
 */
export const findApprovalHint = async (
  request: GateRequest,
  { gates, keys, now }: Pick<Context, 'now'> & Pick<GateViews, 'gates'> & KeyViews,
): Promise<string | undefined> => {
  if (stateAt(request, now()) !== 'pending' || gates.rulesFault(request) !== undefined)
    return undefined
  const { gateId, tenantId, requesterId, votes } = request
  const { approvals } = gates.definition(gateId)
  const people = await keys.listApprovers(tenantId)
  const others = people.filter(({ personId }) => personId !== requesterId)
  if (areSeatsFilled(approvals, [...votes, ...others])) return undefined
  const isOwnersTurn = countAdministrators(people) < 2
  return `nobody can approve it: ${gateId} needs ${describeSeats(approvals)}. ${
    isOwnersTurn ? adviseOwner(tenantId, approvals) : adviseAdministrator(approvals)
  }`
}

type Seats = readonly (readonly string[])[]

const describeSeats = (seats: Seats): string => {
  const roles = seats.map(seat => seat.join(' or ')).join(' and ')
  return seats.length === 1
    ? `another person with the role ${roles}`
    : `${seats.length} other people with the roles ${roles}`
}

/** Keys that approve are issued on the machine only until two administrators exist. */
const adviseOwner = (tenantId: string, seats: Seats): string => {
  const roles = ['client', ...new Set(['operator_admin', ...seats.flatMap(([role = '']) => role)])]
  return (
    "On the coordinator's machine, as the owner of its state folder: " +
    `shoal-coordinator person create --tenant ${tenantId} --name NAME, then ` +
    `shoal-coordinator key create --tenant ${tenantId} --person NAME --role ${roles.join(' ')}`
  )
}

const adviseAdministrator = (seats: Seats): string => {
  const roles = new Set(seats.flatMap(([role = '']) => role))
  return (
    'An administrator creates the person and requests a key for them: ' +
    'shoal persons create --name NAME, then ' +
    `shoal keys request --person-id NAME --tier enterprise --roles client,${[...roles].join(',')}`
  )
}
