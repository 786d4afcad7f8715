import * as z from 'zod'
import { canonicalJson } from '../../../shared/canonical-json.ts'
import { ShoalError } from '../../../shared/errors.ts'
import type { Caller, NewRequest, Trx } from '../../gates/asking.ts'
import type { PolicyInForce } from '../../gates/policies.ts'
import type { Policy } from '../../gates/policy.ts'
import { type PolicyChange, policyDifference, summaryOf } from '../../gates/policy-difference.ts'
import { POLICY_GATE } from '../../gates/policy-floor.ts'
import { putPolicy } from '../../gates/policy-store.ts'
import { proposedPolicy } from '../../gates/proposed-policy.ts'
import type { GateRequest } from '../../gates/request.ts'
import { throughGate } from '../../gates/through-gate.ts'
import type { Context } from '../context.ts'
import { callerOf } from '../gates/gate-view.ts'
import { defineOperation } from '../operation.ts'
import { Pending } from '../pending.ts'
import { PolicyChangeView } from './policy-view.ts'

export default defineOperation({
  id: 'policy-change',
  description:
    'Put another policy in force, after two people have approved it. It takes effect at once.',
  method: 'POST',
  path: '/v1/policy',
  access: 'operator',
  effect: 'gated',
  input: z.strictObject({
    document: z
      .string()
      .min(1)
      .max(60_000)
      .describe('The whole new policy with its table of tests, in YAML or JSON.'),
    reason: z.string().max(300).default('').describe('Why, for those who approve.'),
    dry_run: z.boolean().default(false).describe('Test it and show what changes; ask nobody.'),
  }),
  output: z.object({
    status: z.enum(['changed', 'unchanged', 'dry_run']),
    /** Of the policy that holds now. */
    number: z.int(),
    /** Of the document that was given. */
    version: z.string(),
    hash: z.string(),
    summary: z.string(),
    difference: z.array(PolicyChangeView),
  }),
  cli: { group: 'policy', verb: 'change', file: 'document' },
  run: async ({ document, reason, dry_run }, context) => {
    const { policies } = context
    const wanted = await proposedPolicy(document, policies.configuredGates)
    const current = policies.current()
    const { version, hash } = wanted
    const difference = policyDifference(current.document, wanted.document)
    const answer = { version, hash, difference, summary: summaryOf(difference) }
    if (hash === current.hash)
      return { ...answer, status: 'unchanged' as const, number: current.number }
    if (version === current.version)
      throw new ShoalError('invalid_request', `version ${version} holds: give it another name`, {
        param: 'document',
      })
    if (dry_run) return { ...answer, status: 'dry_run' as const, number: current.number }
    const caller = callerOf(context)
    const asked = askedFor(wanted, { current, reason, difference })
    const act = (trx: Trx, { id }: GateRequest) =>
      putPolicy(trx, newPolicy(wanted, { current, reason, id, caller, context }), context.actor)
    const passage = await throughGate(context.gates, asked, caller, act)
    if (!passage.open)
      return new Pending(passage.request, undefined, {
        difference: difference.map(row => ({ ...row })),
      })
    await policies.reload()
    return { ...answer, status: 'changed' as const, number: passage.result.number }
  },
})

const askedFor = (
  { document, hash, version }: Policy,
  {
    current,
    reason,
    difference,
  }: { current: PolicyInForce; reason: string; difference: PolicyChange[] },
): NewRequest => ({
  gateId: POLICY_GATE,
  subject: 'policy',
  summary: `policy ${version} for ${current.version}: ${summaryOf(difference)}`.slice(0, 500),
  plan: {
    action: 'policy.change',
    document_hash: hash,
    replaces: { number: current.number, hash: current.hash },
    reason,
    document,
  },
  evidence: { difference: fitting(difference) },
})

/** What does not fit beside the plan is in the plan itself. */
const EVIDENCE_CHARS = 40_000

const fitting = (difference: PolicyChange[]): object[] =>
  canonicalJson(difference).length <= EVIDENCE_CHARS
    ? difference
    : difference.map(({ what, id, change }) => ({ what, id, change })).slice(0, 300)

const newPolicy = (
  { version, hash, document }: Policy,
  {
    current,
    reason,
    id,
    caller,
    context,
  }: { current: PolicyInForce; reason: string; id: string; caller: Caller; context: Context },
) => ({
  ...{ version, hash, document, reason },
  replaces: { number: current.number, hash: current.hash },
  configuredHash: context.policies.configured.hash,
  requestId: id,
  changedBy: caller.person.personId,
  changedAt: context.now(),
})
