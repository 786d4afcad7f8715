import type { Logger } from 'pino'
import { loadRun } from '../../../discovery/load.ts'
import type { LookupContext, LookupRun } from '../../../discovery/lookup-run.ts'
import type { DiscoveryModule, LookupModule } from '../../../discovery/module.ts'
import { UpstreamError } from '../../../discovery/upstreams/client.ts'
import type { Upstreams } from '../../../discovery/upstreams/upstreams.ts'
import { canonicalHash } from '../../../shared/canonical-hash.ts'
import { ShoalError } from '../../../shared/errors.ts'
import { randomId } from '../../../shared/ids.ts'
import { type Runtime, timeoutSignal } from '../../../shared/runtime.ts'
import type { ModuleRow } from '../../../shared/wire/findings.ts'
import type { Budgets } from '../../kernel/budgets/budgets.ts'
import type { FindingsSink } from '../entities/findings-sink.ts'
import type { LookupResult, RunMetrics } from './module-result.ts'
import type { ModuleResults } from './module-results.ts'
import { SharedRuns } from './shared-runs.ts'

interface LookupsParts {
  client: Pick<Upstreams, 'openLookup'>
  /** Searches what was discovered. */
  searchEntities: LookupContext['searchEntities']
  budgets: Pick<Budgets, 'moduleRuns'>
  results: Pick<ModuleResults, 'keep'>
  sink: FindingsSink | undefined
  metrics: RunMetrics
  /** Unix milliseconds. */
  now: () => number
  runtime: Pick<Runtime, 'setTimeout'>
  logger: Pick<Logger, 'warn'>
  load?: (module: Lookup) => Promise<LookupRun | undefined>
}

type Lookup = Pick<DiscoveryModule, 'id' | 'domain' | 'deadlineSeconds'> &
  Pick<LookupModule, 'data'>

/** Wait that is recommended when no source has named one, in seconds. */
const RETRY_SECONDS = 60

/** Modules that run on the coordinator and read public data. */
export class Lookups {
  readonly #parts: LookupsParts
  readonly #shared = new SharedRuns<LookupResult, never>()

  constructor(parts: LookupsParts) {
    this.#parts = parts
  }

  /** @throws ShoalError upstream_unavailable without a source or a cache that answers */
  async run(module: Lookup, input: object, signal: AbortSignal): Promise<LookupResult> {
    const inputHash = canonicalHash(input)
    const start = (ends: AbortSignal) => this.#lookUp(module, input, inputHash, ends)
    const work = () => ({ start, release: () => {} })
    const caller = { signal, report: () => {} }
    const held = await this.#shared.join(`${module.id} ${inputHash}`, work, caller)
    held.release()
    return held.result
  }

  async #lookUp(
    module: Lookup,
    input: object,
    inputHash: string,
    ends: AbortSignal,
  ): Promise<LookupResult> {
    const { budgets, metrics, now, runtime } = this.#parts
    const place = budgets.moduleRuns.open({})
    if (!place.take(1)) {
      metrics.discovery.countRun(module.id, 'refused')
      throw new ShoalError('rate_limited', 'too many modules run on the coordinator now')
    }
    const startedAt = now()
    try {
      const deadline = timeoutSignal(runtime, module.deadlineSeconds * 1000)
      const result = await this.#ask(module, input, AbortSignal.any([ends, deadline]))
      metrics.discovery.countRun(module.id, 'complete')
      await this.#record(module, result, { inputHash, startedAt })
      return result
    } catch (error) {
      metrics.discovery.countRun(module.id, 'failed')
      throw toAnswerError(module, error)
    } finally {
      place.close()
    }
  }

  async #ask(module: Lookup, input: object, signal: AbortSignal): Promise<LookupResult> {
    const { client, searchEntities, now, load = loadRun<LookupRun> } = this.#parts
    const run = await load(module)
    if (run === undefined) throw new ShoalError('not_found', `${module.id} has no program here`)
    const { context, sources, warnings } = client.openLookup(signal, searchEntities)
    const found = await run(input as never, context)
    const data = module.data.parse(found)
    return { data, sources, warnings, takenAt: now() }
  }

  /** A result that cannot be stored is answered all the same. */
  async #record(
    { id }: Lookup,
    { data, sources, warnings, takenAt }: LookupResult,
    { inputHash, startedAt }: { inputHash: string; startedAt: number },
  ): Promise<void> {
    const { results, sink, logger } = this.#parts
    const rows = [{ data } as ModuleRow]
    const run = { module: id, runId: randomId(), part: 0, startedAt, outcome: 'complete' } as const
    try {
      const notes = { warnings, sources }
      const elapsedMs = takenAt - startedAt
      await results.keep({ ...run, cellId: '', rows, takenAt, elapsedMs, reason: null, notes })
      await sink?.record({ ...run, cellId: undefined, rows: [data as ModuleRow], inputHash })
    } catch (error) {
      logger.warn({ module: id, reason: (error as Error).message }, 'not recorded')
    }
  }
}

const toAnswerError = ({ id, deadlineSeconds }: Lookup, error: unknown): unknown => {
  if (error instanceof UpstreamError && error.failure === 'offline')
    return new ShoalError(
      'upstream_unavailable',
      `${id} has no answer in its cache, and upstreams.egress is off`,
      { reason: 'egress_off', next: 'shoal upstreams verify', cause: error },
    )
  if (error instanceof UpstreamError)
    return new ShoalError('upstream_unavailable', error.message, {
      retryAfterSeconds: Math.ceil(error.retryAfterSeconds ?? RETRY_SECONDS),
      cause: error,
    })
  if ((error as Error).name === 'TimeoutError')
    return new ShoalError('upstream_unavailable', `${id} had no answer in ${deadlineSeconds} s`, {
      retryAfterSeconds: RETRY_SECONDS,
      cause: error,
    })
  return error
}
