import { findModule } from '../../discovery/load.ts'
import { type DiscoveryModule, isScan } from '../../discovery/module.ts'
import { ShoalError } from '../../shared/errors.ts'
import { firstIssue } from '../../shared/first-issue.ts'
import type { AnswerEvent } from '../../shared/wire/answer-events.ts'
import type { Helper } from '../helper/helper.ts'
import type { HelperClass } from '../helper/helper-class.ts'
import { HelperFailure } from '../helper/helper-failure.ts'
import type { CellScope } from './cell-scope.ts'
import type { DiscoveryConfig } from './config.ts'

export interface ModuleRunParts {
  helpers: { get(helperClass: HelperClass): Pick<Helper, 'stream'> }
  config: Pick<DiscoveryConfig, 'enabled' | 'modules'>
  scope: Pick<CellScope, 'read'>
  find?: (id: string) => Promise<DiscoveryModule | undefined>
}

/** Time that a run has to end by itself after its deadline, in seconds. */
const GRACE_SECONDS = 5
const RETRY_SECONDS = 15

/**
 * Runs a module in the helper process of its reach, and yields its items and its progress.
 * @throws ShoalError not_found, forbidden, invalid_request, rate_limited or internal
 */
export async function* runModule(
  { helpers, config, scope, find = findModule }: ModuleRunParts,
  id: string,
  given: unknown,
  signal: AbortSignal,
): AsyncGenerator<AnswerEvent, void, void> {
  const module = await find(id)
  if (module === undefined || !isScan(module))
    throw new ShoalError('not_found', `this cell has no module ${id}`)
  if (!config.enabled)
    throw new ShoalError('forbidden', 'discovery is off on this cell (discovery.enabled)')
  const input = module.input.safeParse(given)
  if (!input.success)
    throw new ShoalError('invalid_request', firstIssue(input.error, given).message)
  const call = {
    module: 'module',
    function: id,
    input: { input: input.data, scope: scope.read(), config: config.modules[id] },
    deadlineSeconds: module.deadlineSeconds + GRACE_SECONDS,
    isLong: true,
  }
  try {
    yield* helpers.get(module.reach).stream(call, signal)
  } catch (error) {
    throw error instanceof HelperFailure ? toShoalError(error) : error
  }
}

const toShoalError = (cause: HelperFailure): ShoalError =>
  cause.kind === 'busy' || cause.kind === 'stopped'
    ? new ShoalError('rate_limited', cause.message, { retryAfterSeconds: RETRY_SECONDS, cause })
    : new ShoalError('internal', cause.message, { cause })
