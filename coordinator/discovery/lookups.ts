import type { Logger } from 'pino'
import { loadRun } from '../../discovery/load.ts'
import type { LookupRun } from '../../discovery/lookup-run.ts'
import type { DiscoveryModule, LookupModule } from '../../discovery/module.ts'
import { UpstreamError } from '../../discovery/upstreams/client.ts'
import { canonicalHash } from '../../shared/canonical-hash.ts'
import { ShoalError } from '../../shared/errors.ts'
import { randomId } from '../../shared/ids.ts'
import type { ModuleRow, UpstreamSource, UpstreamWarning } from '../../shared/wire/findings.ts'
import type { Budgets } from '../budgets/budgets.ts'
import type { FindingsSink } from './findings-sink.ts'
import type { LookupClient } from './lookup-client.ts'
import type { LookupResult } from './module-result.ts'
import type { ModuleResults } from './module-results.ts'
import { SharedRuns } from './shared-runs.ts'

interface LookupsParts {
  client: LookupClient
  budgets: Pick<Budgets, 'moduleRuns'>
  results: Pick<ModuleResults, 'keep'>
  sink: FindingsSink | undefined
  /** Unix milliseconds. */
  now: () => number
  logger: Pick<Logger, 'warn'>
  load?: (module: Lookup) => Promise<LookupRun | undefined>
}

type Lookup = Pick<DiscoveryModule, 'id' | 'domain' | 'deadlineSeconds'> &
  Pick<LookupModule, 'data'>

const MAX_WARNINGS = 32
const MAX_SOURCES = 64
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
    const place = this.#parts.budgets.moduleRuns.open({})
    if (!place.take(1))
      throw new ShoalError('rate_limited', 'too many modules run on the coordinator now')
    const startedAt = this.#parts.now()
    try {
      const deadline = AbortSignal.timeout(module.deadlineSeconds * 1000)
      const result = await this.#ask(module, input, AbortSignal.any([ends, deadline]))
      await this.#record(module, result, { inputHash, startedAt })
      return result
    } catch (error) {
      throw toAnswerError(module, error)
    } finally {
      place.close()
    }
  }

  async #ask(module: Lookup, input: object, signal: AbortSignal): Promise<LookupResult> {
    const { client, now, load = loadRun<LookupRun> } = this.#parts
    const run = await load(module)
    if (run === undefined) throw new ShoalError('not_found', `${module.id} has no program here`)
    const sources = new Map<string, UpstreamSource>()
    const warnings: UpstreamWarning[] = []
    const found = await run(input as never, {
      signal,
      now,
      ask: async request => {
        const answer = await client.ask(request, signal)
        if (sources.size < MAX_SOURCES) sources.set(answer.source.url, answer.source)
        return answer
      },
      warn: (code, message, source) => {
        const named = source === undefined ? {} : { source: source.slice(0, 64) }
        if (warnings.length < MAX_WARNINGS)
          warnings.push({ code, message: message.slice(0, 500), ...named })
      },
      settings: client.settings,
    })
    const data = module.data.parse(found)
    return { data, sources: [...sources.values()], warnings, takenAt: now() }
  }

  /** A result that cannot be stored is answered all the same. */
  async #record(
    { id }: Lookup,
    { data, sources, warnings, takenAt }: LookupResult,
    { inputHash, startedAt }: { inputHash: string; startedAt: number },
  ): Promise<void> {
    const { results, sink, logger } = this.#parts
    const rows = [{ data } as ModuleRow]
    const run = { module: id, runId: randomId(), startedAt, outcome: 'complete' } as const
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
