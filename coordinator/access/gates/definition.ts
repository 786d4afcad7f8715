import * as z from 'zod'
import { OPERATOR_ROLES } from '../../kernel/declaration/key.ts'

/** Id of a gate, such as `gate.major-release-approve`. */
export const GateId = z
  .string()
  .max(128)
  .regex(/^gate\.[a-z0-9]+(-[a-z0-9]+)*$/, 'is not a gate id')

/** One required approval, from a person with one of these roles. */
const Seat = z.array(z.enum(OPERATOR_ROLES)).min(1)

const MINUTES_OF_A_DAY = 24 * 60

/** Rule that requires approvals before an action. */
export const GateDefinition = z.strictObject({
  purpose: z.string().min(1).max(200).describe('What passes this gate.'),
  approvals: z
    .array(Seat)
    .min(1)
    .max(5)
    .describe(
      'One entry for each person who must approve: the roles of which that person has one.',
    ),
  request_minutes: z
    .int()
    .min(1)
    .max(30 * MINUTES_OF_A_DAY)
    .default(MINUTES_OF_A_DAY)
    .describe('How long a request waits for its approvals.'),
  approval_minutes: z
    .int()
    .min(1)
    .max(30 * MINUTES_OF_A_DAY)
    .default(MINUTES_OF_A_DAY)
    .describe('How long an approval may be used.'),
})
export type GateDefinition = z.output<typeof GateDefinition>

/**
 * Lifetime of approvals for actions with an immediate effect, in minutes; such an approval must not
 * stay usable for long.
 */
const SHORT_MINUTES = 15

const gate = (
  purpose: string,
  approvals: z.input<typeof GateDefinition>['approvals'],
  approval_minutes?: number,
): z.input<typeof GateDefinition> => ({
  purpose,
  approvals,
  ...(approval_minutes === undefined ? {} : { approval_minutes }),
})

/**
 * Shipped gates: the eight of the interface specification, section 4.7, and those of shoal's own
 * operations.
 */
const SHIPPED: Record<string, z.input<typeof GateDefinition>> = {
  'gate.production-deploy': gate('Deployment to production.', [['operator_admin']]),
  'gate.campaign-stage-advance': gate('Next stage of a campaign.', [['reviewer']]),
  'gate.avv-signature-confirm': gate('Signature of a contract.', [['legal']]),
  'gate.developer-api-key-approve': gate('Issue of an API key.', [['operator_admin']]),
  'gate.content-publish-social': gate('Publication of a post.', [['reviewer']]),
  'gate.customer-go-live-approve': gate('A tenant goes live.', [['operator_admin']]),
  'gate.minor-release-approve': gate('Minor release.', [['reviewer']]),
  'gate.major-release-approve': gate('Major release.', [['architect'], ['operator_admin']]),
  'gate.device-command-live': gate(
    'Live execution of an unsafe device command.',
    [['operator_admin']],
    SHORT_MINUTES,
  ),
  'gate.device-command-critical': gate(
    'Device command that two people must approve: arming, firmware, raw machine code.',
    [['architect'], ['operator_admin']],
    SHORT_MINUTES,
  ),
  'gate.swarm-formation-live': gate(
    'Live execution of a swarm formation.',
    [['architect'], ['operator_admin']],
    SHORT_MINUTES,
  ),
  'gate.policy-change': gate(
    'Change of the gates themselves.',
    [['architect'], ['operator_admin']],
    SHORT_MINUTES,
  ),
  'gate.cell-enroll': gate('Enrolment of many cells at once.', [['operator_admin']], SHORT_MINUTES),
  'gate.repair-run': gate('Repair of a service that is down.', [['operator_admin']], SHORT_MINUTES),
}

/** Gates in the configuration; each may be changed or added, but no shipped gate can be removed. */
export const Gates = z
  .record(GateId, GateDefinition)
  .default({})
  .transform(own => ({ ...loadShippedGates(), ...own }))
  .describe('Gates by id, laid over the shipped ones; see docs/gates.md.')
export type Gates = Record<string, GateDefinition>

export const loadShippedGates = (): Gates =>
  Object.fromEntries(
    Object.entries(SHIPPED).map(([id, definition]) => [id, GateDefinition.parse(definition)]),
  )
