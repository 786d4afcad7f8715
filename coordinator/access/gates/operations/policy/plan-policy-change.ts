import * as z from 'zod'
import { canonicalJson } from '../../../../../shared/canonical-json.ts'
import { ShoalError } from '../../../../../shared/errors.ts'
import type { Context } from '../../../../kernel/declaration/context.ts'
import type { SingleUseApproval } from '../../../../kernel/declaration/single-use-approval.ts'
import type { GateViews } from '../../open.ts'
import type { PolicyInForce } from '../../policies.ts'
import type { Policy } from '../../policy.ts'
import { type PolicyChange, policyDifference, summarizeChanges } from '../../policy-difference.ts'
import { POLICY_GATE } from '../../policy-floor.ts'
import { PolicyChangeView } from './policy-view.ts'

export const ChangeAnswer = z.object({
  status: z.enum(['changed', 'unchanged', 'dry_run']),
  /** Number of the policy in force. */
  number: z.int(),
  /** Version of the proposed document. */
  version: z.string(),
  hash: z.string(),
  summary: z.string(),
  difference: z.array(PolicyChangeView),
})

/** Plans the replacement of the policy in force. Throws `invalid_request` for its own version. */
export const planChange = (
  wanted: Policy,
  reason: string,
  policies: Pick<GateViews['policies'], 'current'>,
) => {
  const current = policies.current()
  const difference = policyDifference(current.document, wanted.document)
  const plan: ChangePlan = { wanted, current, reason, difference }
  const summary = `policy ${wanted.version} for ${current.version}: ${summarizeChanges(difference)}`
  if (isUnchanged(plan)) return { plan, summary }
  if (wanted.version === current.version)
    throw new ShoalError(
      'invalid_request',
      `version ${wanted.version} is in force; give the new policy another version`,
      { param: 'document' },
    )
  return {
    plan,
    covers: toCoveredPlan(plan),
    summary: summary.slice(0, 500),
    gate: POLICY_GATE,
    subject: 'policy',
    evidence: { difference: abridgeDifference(difference) },
    difference: difference.map(row => ({ ...row })),
  }
}

export const showChange = (plan: ChangePlan) =>
  answerOf(plan, isUnchanged(plan) ? 'unchanged' : 'dry_run', plan.current.number)

/** Puts the approved policy in force; without an approval nothing was to be changed. */
export const runChange = async (
  plan: ChangePlan,
  context: Context & GateViews,
  approval: SingleUseApproval | undefined,
) => {
  if (approval === undefined) return answerOf(plan, 'unchanged', plan.current.number)
  const change = changeOf(plan, approval, context)
  const { number } = await approval.use(trx =>
    context.policies.putWithin(trx, change, context.actor),
  )
  await context.policies.reload()
  return answerOf(plan, 'changed', number)
}

interface ChangePlan {
  wanted: Policy
  current: PolicyInForce
  reason: string
  difference: PolicyChange[]
}

const isUnchanged = ({ wanted, current }: ChangePlan): boolean => wanted.hash === current.hash

const answerOf = (
  { wanted: { version, hash }, difference }: ChangePlan,
  status: 'changed' | 'unchanged' | 'dry_run',
  number: number,
) => ({ status, number, version, hash, difference, summary: summarizeChanges(difference) })

const toCoveredPlan = ({ wanted, current, reason }: ChangePlan) => ({
  action: 'policy.change',
  document_hash: wanted.hash,
  replaces: { number: current.number, hash: current.hash },
  reason,
  document: wanted.document,
})

/** Size limit of the evidence; a longer difference is abridged, since the plan has the document. */
const EVIDENCE_CHARS = 40_000

const abridgeDifference = (difference: PolicyChange[]): object[] =>
  canonicalJson(difference).length <= EVIDENCE_CHARS
    ? difference
    : difference.map(({ what, id, change }) => ({ what, id, change })).slice(0, 300)

const changeOf = (
  { wanted, current, reason }: ChangePlan,
  { requestId, requesterId }: SingleUseApproval,
  { policies, now }: Context & GateViews,
) => ({
  version: wanted.version,
  hash: wanted.hash,
  document: wanted.document,
  reason,
  replaces: { number: current.number, hash: current.hash },
  configuredHash: policies.configured.hash,
  requestId,
  changedBy: requesterId,
  changedAt: now(),
})
