import type { Logger } from 'pino'
import { ShoalError } from '../../../shared/errors.ts'
import type { Runtime } from '../../../shared/runtime.ts'
import { followChanges } from '../../kernel/base/follow-changes.ts'
import { shareRuns } from '../../kernel/base/share-runs.ts'
import type { Store } from '../../kernel/store/store.ts'
import type { Trx } from './asking.ts'
import type { Gates } from './definition.ts'
import type { PolicyFacts, StoredPolicy } from './policy.table.ts'
import { loadPolicy, type Policy, policyOf } from './policy.ts'
import { newestNumber, newestPolicy, policySourceOf } from './policy-store.ts'
import { isEarlierPolicy, listMissingRules, loadShippedPolicy } from './shipped-policies.ts'

/** The policy in force, and its origin. */
export interface PolicyInForce extends Policy {
  /** 0 for the configured policy; each policy that supersedes it increments the number. */
  number: number
  source: PolicySource
  /** Undefined for the configured policy. */
  stored: PolicyFacts | undefined
}

/** `approved` at the gate, or `accepted` by hand on the coordinator's machine. */
export const POLICY_SOURCES = ['shipped', 'file', 'approved', 'accepted'] as const
type PolicySource = (typeof POLICY_SOURCES)[number]

export interface Policies {
  /** The policy in force. */
  current(): PolicyInForce
  configured: ConfiguredPolicy
  /** The configured gates, which those of a policy override. */
  configuredGates: Gates
  /** The policy of this build. */
  shipped: Policy
  /** Rules that this build ships and the policy in force lacks. */
  findMissingRules(): string[]
  /** Difference between the configured policy and the one in force; undefined when there is none. */
  drift(): string | undefined
  /**
   * Runs in the transaction of a decision. Throws `conflict` when another process has put a policy
   * in force that this process has not read yet.
   */
  requireCurrent(trx: Trx): Promise<void>
  /** Reads the ledger now. Rejects when its policy cannot be used. */
  reload(): Promise<void>
  close(): Promise<void>
}

interface ConfiguredPolicy extends Policy {
  /** Undefined for the shipped policy. */
  file: string | undefined
  /** File with an unedited policy of an earlier build, which the shipped one replaces. */
  outdatedFile?: string
}

interface PoliciesParts {
  store: Pick<Store, 'ledger' | 'revisions'>
  configured: ConfiguredPolicy
  /** The configured gates. */
  gates: Gates
  logger: Pick<Logger, 'info' | 'warn' | 'error'>
  runtime: Pick<Runtime, 'setTimeout'>
}

/**
 * The policy of the file, or the shipped one without a file and for an unedited copy of what an
 * earlier build shipped. Throws `config_invalid`.
 */
export const readConfiguredPolicy = (file: string | undefined, gates: Gates): ConfiguredPolicy => {
  const own = file === undefined ? undefined : loadPolicy(file, gates)
  if (own === undefined || file === undefined)
    return { ...loadShippedPolicy(gates), file: undefined }
  if (!isEarlierPolicy(own)) return { ...own, file }
  return { ...loadShippedPolicy(gates), file: undefined, outdatedFile: file }
}

/**
 * Opens the policy in force: the configured one until another is approved, which then stays until
 * the next. Throws `config_invalid` when the policy in the ledger cannot be used with this
 * configuration.
 */
export const openPolicies = async (parts: PoliciesParts): Promise<Policies> => {
  const { configured, logger } = parts
  const { ledger, revisions } = parts.store
  const read = async () => toPolicyInForce(await newestPolicy(ledger.read), parts)
  const shipped = configured.file === undefined ? configured : loadShippedPolicy(parts.gates)
  let current = await read()
  const missingRules = () => listMissingRules(current, shipped, current.stored?.configuredHash)
  const drift = () => driftOf(current, configured, missingRules())
  tellAtStart(current, configured, drift() ?? describeMissingRules(missingRules()), logger)

  const reload = shareRuns(async () => {
    const newest = await read()
    if (newest.number === current.number) return
    const { number, version, hash, source } = newest
    current = newest
    logger.info({ number, version, hash, source }, 'a new policy is in force')
  })
  // the previous policy stays in force: an unreadable policy must not disable the rules
  const changes = followChanges({
    subscribe: listener => revisions.onChange('policies', listener),
    read: reload,
    onFailure: error => logger.error({ err: error }, 'the new policy cannot be used'),
    runtime: parts.runtime,
  })
  const requireCurrent: Policies['requireCurrent'] = async trx => {
    if ((await newestNumber(trx)) === current.number) return
    void changes.look()
    throw new ShoalError('conflict', 'the policy has just changed; try again')
  }
  return {
    current: () => current,
    configured,
    configuredGates: parts.gates,
    shipped,
    findMissingRules: missingRules,
    drift,
    requireCurrent,
    reload,
    close: changes.close,
  }
}

const toPolicyInForce = (
  stored: StoredPolicy | undefined,
  { configured, gates }: Pick<PoliciesParts, 'configured' | 'gates'>,
): PolicyInForce => {
  if (stored === undefined) {
    const source = configured.file === undefined ? 'shipped' : 'file'
    return { ...configured, number: 0, source, stored }
  }
  const { number, hash, document } = stored
  const name = `policy ${number} of the ledger (shoal-coordinator policy accept takes the configured one)`
  const policy = policyOf(document, gates, name)
  if (policy.hash !== hash)
    throw new ShoalError('config_invalid', `${name}: it is not the one that was kept`)
  return { ...policy, number, source: policySourceOf(stored), stored }
}

/**
 * A configured file that differs from the policy in force is never applied and never ignored
 * silently. The shipped file may differ while it is the one that was superseded.
 */
const driftOf = (
  { number, hash, stored }: PolicyInForce,
  configured: ConfiguredPolicy,
  missing: readonly string[],
): string | undefined => {
  if (stored === undefined || configured.hash === hash) return undefined
  if (configured.file !== undefined)
    return `${configured.file} is not policy ${number}, which is in force: write it there (shoal policy show --as yaml), or request the file's policy (shoal policy change)`
  if (configured.hash === stored.configuredHash) return undefined
  return (
    describeMissingRules(missing) ??
    `the shipped policy has changed since policy ${number}, which is in force, was approved; add what is new (shoal policy change)`
  )
}

const describeMissingRules = (missing: readonly string[]): string | undefined =>
  missing.length === 0
    ? undefined
    : `the policy in force lacks rules that this version ships (${missing.join(', ')}); add them with: shoal policy upgrade`

const tellAtStart = (
  { number, version, hash, source }: PolicyInForce,
  configured: ConfiguredPolicy,
  reason: string | undefined,
  logger: PoliciesParts['logger'],
): void => {
  const facts = { number, version, hash, source }
  if (configured.outdatedFile !== undefined)
    logger.info(
      { file: configured.outdatedFile },
      'policy_file is the policy of an earlier version, unedited; the shipped one takes its place',
    )
  if (reason === undefined) logger.info(facts, 'policy')
  else logger.warn({ ...facts, configured_hash: configured.hash, reason }, 'policy')
}
