import * as z from 'zod'
import { canonicalJson } from '../../../shared/canonical-json.ts'
import { ShoalError } from '../../../shared/errors.ts'
import { lazy } from '../../../shared/lazy.ts'
import type { Gates } from './definition.ts'
import { type Policy, policyOf, SHIPPED_POLICY_FILE } from './policy.ts'
import { PolicyDocument, type Rule } from './policy-document.ts'
import { readPolicyFile } from './policy-yaml.ts'
import { requirePolicy } from './proposed-policy.ts'

/** A policy that an earlier build shipped. */
const EarlierPolicy = z.strictObject({
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  /** Ids of its rules. */
  rules: z.array(z.string()).min(1),
})

const loadEarlierPolicies = lazy(() =>
  z.array(EarlierPolicy).parse(readPolicyFile(new URL('shipped-policies.yaml', import.meta.url))),
)

const findEarlier = (hash: string | undefined) =>
  hash === undefined ? undefined : loadEarlierPolicies().find(each => each.hash === hash)

/** True for a policy that an earlier build shipped and that nobody has edited. */
export const isEarlierPolicy = ({ hash }: Pick<Policy, 'hash'>): boolean =>
  findEarlier(hash) !== undefined

/** The policy of this build. Throws `config_invalid` when it does not fit the configured gates. */
export const loadShippedPolicy = (gates: Gates): Policy =>
  policyOf(readShippedDocument(), gates, String(SHIPPED_POLICY_FILE))

const readShippedDocument = lazy(() => readPolicyFile(SHIPPED_POLICY_FILE))

/**
 * Ids of the rules that this build ships and a policy lacks. Rules of the shipped policy that it was
 * approved over, given by its hash, were left out on purpose.
 */
export const listMissingRules = (
  { document }: Pick<Policy, 'document'>,
  shipped: Policy,
  approvedOverHash?: string,
): string[] => {
  if (approvedOverHash === shipped.hash) return []
  const present = new Set(rulesOf(document).map(({ id }) => id))
  const leftOut = new Set(findEarlier(approvedOverHash)?.rules)
  return rulesOf(shipped.document)
    .map(({ id }) => id)
    .filter(id => !present.has(id) && !leftOut.has(id))
}

/**
 * A policy with missing rules of the shipped one and the tests that they decide. Each rule comes
 * after the shipped rule before it, so that rules of the operator keep their precedence over what
 * follows them. Throws `invalid_request` when the tests fail in the company of the other rules.
 */
export const addMissingRules = (
  { version, document }: Pick<Policy, 'version' | 'document'>,
  shipped: Policy,
  missing: readonly string[],
  gates: Gates,
): Policy => {
  const { data, error } = PolicyDocument.safeParse(document)
  if (error)
    throw new ShoalError('internal', 'the policy in force cannot be read', { cause: error })
  const raw = document as { tests: unknown[] }
  const added = listDecidedTests(shipped, missing).filter(
    test => !data.tests.some(own => canonicalJson(own) === canonicalJson(test)),
  )
  return requirePolicy(
    {
      ...(document as object),
      version: nextVersion(version, shipped.version),
      rules: insertRules(rulesOf(document), rulesOf(shipped.document), missing),
      tests: [...raw.tests, ...added],
    },
    gates,
  )
}

/** Rules as they were written, before defaults. */
const rulesOf = (document: unknown): readonly Rule[] => (document as { rules: Rule[] }).rules

const insertRules = (
  rules: readonly Rule[],
  shipped: readonly Rule[],
  missing: readonly string[],
): Rule[] => {
  const result = [...rules]
  for (const [at, rule] of shipped.entries()) {
    if (!missing.includes(rule.id)) continue
    const before = shipped.slice(0, at).map(({ id }) => id)
    const after = shipped.slice(at + 1).map(({ id }) => id)
    const previous = result.findLastIndex(({ id }) => before.includes(id))
    const next = result.findIndex(({ id }) => after.includes(id))
    result.splice(previous >= 0 ? previous + 1 : next >= 0 ? next : result.length, 0, rule)
  }
  return result
}

/** Rows of the shipped table that one of the rules decides. */
const listDecidedTests = ({ document, decide }: Policy, missing: readonly string[]) =>
  PolicyDocument.parse(document).tests.filter(({ action_type, kind, roles, context }) =>
    missing.includes(decide(action_type, { kind, roles }, context).ruleId ?? ''),
  )

const MAX_VERSION_CHARS = 64

const nextVersion = (version: string, shipped: string): string => {
  const suffix = `+shipped-${shipped}`
  return `${version.slice(0, MAX_VERSION_CHARS - suffix.length)}${suffix}`
}
