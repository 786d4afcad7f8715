import { ShoalError } from '../../../../shared/errors.ts'
import type { KeyViews } from '../../../access/keys/open.ts'
import { KEY_PREFIX, newSecret } from '../../../access/keys/secret.ts'
import type { CallViews } from '../../../calls/invoke/call-views.ts'
import { isRoutable } from '../../../fleet/cells/cell.ts'
import { readyModels } from '../../../fleet/cells/fleet.ts'
import type { FleetViews } from '../../../fleet/cells/open.ts'
import type { AuditViews } from '../../../kernel/audit/open.ts'
import type { VitalViews } from '../../../kernel/base/vitals.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { scopeOf } from '../../../kernel/declaration/tenant-scope.ts'
import type { QueueViews } from '../../../kernel/queue/open.ts'
import type { ServiceViews } from '../open.ts'
import type { ServiceHealth, ServiceId } from '../services.ts'

export const SCENARIOS = ['minimal', 'keycloak-full', 'full-stack', 'regression'] as const
type Scenario = (typeof SCENARIOS)[number]
type SuiteScope = 'smoke' | 'auth' | 'magic'

/** Outcome of one check; `skipped` with the reason where something is not configured. */
interface CaseOutcome {
  outcome: 'passed' | 'failed' | 'skipped'
  reason: string | undefined
}

/** Views that the checks ask. */
export type SuiteViews = AuditViews &
  CallViews &
  FleetViews &
  KeyViews &
  QueueViews &
  ServiceViews &
  VitalViews

/** One check against the running system. */
export interface SuiteCase {
  id: string
  scope: SuiteScope
  run(context: Context & SuiteViews): Promise<CaseOutcome>
}

/** `smoke`: a part answers. `auth`: sign-in and access. `magic`: several parts work together. */
export const listCases = (
  scenario: Scenario,
  realms: readonly string[] | undefined,
  { skills }: Pick<CallViews, 'skills'>,
): SuiteCase[] => {
  const minimal = [serviceCase('iio_api'), STORE, ACCESS, WRONG_KEY, REVOKED_KEY, QUEUE]
  const keycloak = [...minimal, serviceCase('keycloak', realms)]
  const all = [...keycloak, serviceCase('cockpit'), BROKER, CELLS, MODELS, AUDIT, CHAT]
  if (scenario === 'minimal') return minimal
  if (scenario === 'keycloak-full') return keycloak
  return scenario === 'full-stack' ? all : [...all, ...skills.flatMap(skillCase)]
}

/** Newest revoked keys that are tried. */
const MAX_REVOKED = 16
const PASSED: CaseOutcome = { outcome: 'passed', reason: undefined }
const createFailure = (reason: string): CaseOutcome => ({ outcome: 'failed', reason })
const createSkip = (reason: string): CaseOutcome => ({ outcome: 'skipped', reason })

const serviceCase = (id: ServiceId, realms?: readonly string[]): SuiteCase => ({
  id: `service-${id}`,
  scope: id === 'keycloak' ? 'auth' : 'smoke',
  run: async ({ services, signal }) =>
    outcomeOf(await services.check(id, { isDeep: true, ...(realms && { realms }) }, signal)),
})

const outcomeOf = ({
  state,
  reason = '',
}: Pick<ServiceHealth, 'state' | 'reason'>): CaseOutcome => {
  if (state === 'up') return PASSED
  return state === 'not_configured' ? createSkip(reason) : createFailure(`${state}: ${reason}`)
}

const STORE: SuiteCase = {
  id: 'store',
  scope: 'smoke',
  run: async ({ vitals }) => {
    const problem = vitals.storeProblem() ?? vitals.usageProblem()
    return problem === undefined ? PASSED : createFailure(String(problem))
  },
}

const BROKER: SuiteCase = {
  id: 'broker',
  scope: 'smoke',
  run: async ({ vitals }) =>
    vitals.brokerConnected() ? PASSED : createFailure('the broker is not connected'),
}

const CELLS: SuiteCase = {
  id: 'cells',
  scope: 'smoke',
  run: async ({ fleet }) => {
    const cells = [...fleet.cells()]
    if (cells.length === 0) return createSkip('no cell is enrolled')
    return cells.some(isRoutable) ? PASSED : createFailure('no cell accepts requests')
  },
}

const MODELS: SuiteCase = {
  id: 'models',
  scope: 'magic',
  run: async ({ fleet }) => {
    const cells = [...fleet.cells()]
    if (cells.length === 0) return createSkip('no cell is enrolled')
    return readyModels(cells).size > 0 ? PASSED : createFailure('no model is loaded')
  },
}

/** The rights of the caller's key, as every call checks them. */
const ACCESS: SuiteCase = {
  id: 'access',
  scope: 'auth',
  run: async ({ key, keys }) => {
    const now = key === undefined ? undefined : await keys.asNow(key.id)
    return now === undefined ? createFailure('the key of this call is not valid') : PASSED
  },
}

/** Secret of the right form and id that was never issued, presented as every request is. */
const WRONG_KEY: SuiteCase = {
  id: 'access-wrong-key',
  scope: 'auth',
  run: async ({ key, keys }) => {
    const presented = newSecret(KEY_PREFIX, key?.id).text
    const admitted = await keys.authenticate(presented)
    return admitted === undefined
      ? PASSED
      : createFailure('a secret that was never issued is valid')
  },
}

/** Revoked keys of the tenant; their secrets are not stored, so their rights are looked up. */
const REVOKED_KEY: SuiteCase = {
  id: 'access-revoked-key',
  scope: 'auth',
  run: async context => {
    const { keys } = context
    const listed = await keys.list(scopeOf(context))
    const revoked = listed.filter(({ revokedAt }) => revokedAt !== undefined).slice(-MAX_REVOKED)
    if (revoked.length === 0) return createSkip('no key of this tenant is revoked')
    for (const { id } of revoked)
      if ((await keys.asNow(id)) !== undefined) return createFailure(`revoked key ${id} is valid`)
    return PASSED
  },
}

const QUEUE: SuiteCase = {
  id: 'queue',
  scope: 'magic',
  run: async context => {
    const lines = await context.queue.board(scopeOf(context))
    const dead = lines
      .filter(({ state }) => state === 'dead')
      .reduce((sum, { jobs }) => sum + jobs, 0)
    return dead === 0 ? PASSED : createFailure(`${dead} dead letters in the queue`)
  },
}

/** Every link of the audit chain, its counter, and the mark of a fault found before. */
const AUDIT: SuiteCase = {
  id: 'audit',
  scope: 'magic',
  run: async ({ audit }) => {
    const verdict = await audit.verify()
    return verdict.ok
      ? PASSED
      : createFailure(`the chain is broken at row ${verdict.brokenAt}: ${verdict.reason}`)
  },
}

const CHAT: SuiteCase = {
  id: 'chat-servers',
  scope: 'smoke',
  run: async ({ chatServers, signal, tenantId }) => {
    const status = await chatServers.check(tenantId ?? '', signal)
    if (status === undefined) return createSkip('chat_servers has none of this tenant')
    return status.state === 'up' ? PASSED : createFailure(`${status.state}: ${status.reason}`)
  },
}

/** A skill that only reads and stays inside the fleet, called with its first example. */
const skillCase = ({ id, effect, openWorld, examples, input }: CallViews['skills'][number]) => {
  const example = examples[0] ?? {}
  const isHere = effect === 'read' && openWorld !== true && id !== 'run-test-suite'
  if (!isHere || !input.safeParse(example).success) return []
  const run = (context: Context) => callRead(context, id, example)
  return [{ id: `skill-${id}`, scope: 'magic' as const, run }]
}

/** A refusal of the example is an answer; a failure of the coordinator is not. */
const callRead = async (context: Context, id: string, input: object): Promise<CaseOutcome> => {
  try {
    await context.callSkill(id, { input, isCounted: true })
    return PASSED
  } catch (error) {
    if (!(error instanceof ShoalError)) throw error
    if (error.code === 'not_found' || error.code === 'invalid_request')
      return createSkip(`the example does not exist here: ${error.message}`)
    return createFailure(`${error.code}: ${error.message}`)
  }
}
