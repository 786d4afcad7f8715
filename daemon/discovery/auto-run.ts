import type { Logger } from 'pino'
import { type DiscoveryModule, isScan, type ScanModule } from '../../discovery/module.ts'
import { canonicalHash } from '../../shared/canonical-hash.ts'
import { wait as realWait, type Wait } from '../../shared/wait.ts'
import { type FindingsBody, ScanItem } from '../../shared/wire/findings.ts'
import type { Service } from '../service.ts'
import type { AutoRunBudget } from './auto-run-budget.ts'
import type { CellScope } from './cell-scope.ts'
import { FindingsParts } from './findings-parts.ts'
import { type ModuleRunParts, runModule } from './run-module.ts'

interface AutoRunParts extends ModuleRunParts {
  scope: Pick<CellScope, 'read' | 'isAutoRun'>
  modules: () => Promise<readonly DiscoveryModule[]>
  /** Resolves when the findings are on disk. */
  keepFindings(body: FindingsBody): Promise<void>
  budget: AutoRunBudget
  /** Unix milliseconds. */
  now: () => number
  /** Monotonic milliseconds. */
  nowMs: () => number
  random?: () => number
  wait?: Wait
  logger: Pick<Logger, 'debug' | 'warn'>
}

const NO_BUDGET = 'the hourly budget of findings is used up (discovery.auto_run)'
const LOOK_EVERY_MS = 5000
/** Share of an interval by which runs are moved, so that the cells of a fleet do not run at once. */
const JITTER = 0.1

/** Runs modules on a schedule, one at a time, while the coordinator has switched that on. */
export const autoRunService = (parts: AutoRunParts): Service => ({
  name: 'discovery',
  start: async ({ signal, fail }) => {
    const { wait = realWait } = parts
    const schedule = new Schedule(parts)
    const run = async (): Promise<void> => {
      while (!signal.aborted) {
        if (parts.scope.isAutoRun) await schedule.runDue(signal)
        await wait(LOOK_EVERY_MS, signal)
      }
    }
    run().catch(fail)
  },
})

/** Times at which each module runs next. */
class Schedule {
  readonly #parts: AutoRunParts
  /** Monotonic milliseconds, by the id of the module. */
  readonly #dueMs = new Map<string, number>()
  #modules: readonly (ScanModule & DiscoveryModule)[] | undefined

  constructor(parts: AutoRunParts) {
    this.#parts = parts
  }

  async runDue(signal: AbortSignal): Promise<void> {
    this.#modules ??= (await this.#parts.modules()).filter(canRunByItself)
    for (const module of this.#modules) {
      if (signal.aborted || !this.#parts.scope.isAutoRun) return
      if (!this.#parts.budget.allows(module)) continue
      if (!this.#isDue(module) || !isAllowed(module, this.#parts.scope)) continue
      await runOnce(this.#parts, module, signal)
    }
  }

  /** The first run is at a random time within the interval. */
  #isDue({ id, autoRun }: ScanModule): boolean {
    const { nowMs, random = Math.random } = this.#parts
    const everyMs = (autoRun?.everySeconds ?? 0) * 1000
    const now = nowMs()
    const dueMs = this.#dueMs.get(id)
    if (dueMs !== undefined && now < dueMs) return false
    const next = dueMs === undefined ? random() : 1 + JITTER * (2 * random() - 1)
    this.#dueMs.set(id, now + next * everyMs)
    return dueMs !== undefined
  }
}

/** Modules with an interval, for which no input is needed. */
const canRunByItself = (module: DiscoveryModule): module is ScanModule & DiscoveryModule =>
  isScan(module) && module.autoRun !== undefined && module.input.safeParse({}).success

/** Host modules and passive ones; those of the network where an operator has added a scope. */
const isAllowed = ({ reach, autoRun }: ScanModule, scope: AutoRunParts['scope']): boolean => {
  if (reach === 'host' || autoRun?.isPassive) return true
  return reach === 'lan' && scope.read().entries.length > 0
}

const runOnce = async (
  parts: AutoRunParts,
  module: ScanModule,
  signal: AbortSignal,
): Promise<void> => {
  const { now, nowMs, keepFindings, budget, logger } = parts
  const { id, input } = module
  const facts = { module: id, inputHash: canonicalHash(input.parse({})), startedAt: now() }
  const findings = new FindingsParts(facts, keepFindings)
  try {
    const startedMs = nowMs()
    const end = await collect(parts, id, findings, signal)
    budget.charge(module, nowMs() - startedMs)
    await findings.end({ ...end, use: budget.use() })
  } catch (error) {
    logger.warn({ module: id, reason: (error as Error).message }, 'findings not kept')
  }
}

/** Adds the rows of a run, and returns how it ended. */
const collect = async (
  parts: AutoRunParts,
  id: string,
  findings: FindingsParts,
  signal: AbortSignal,
): Promise<NonNullable<FindingsBody['end']>> => {
  let reason: string | null = null
  let outcome: 'complete' | 'unavailable' = 'complete'
  const items = runModule(parts, id, {}, signal)
  try {
    for await (const event of items) {
      if (event.type !== 'item') continue
      const item = ScanItem.parse(event.value)
      if (item.type === 'row') {
        if (!parts.budget.takeFinding()) return { outcome: 'failed', reason: NO_BUDGET }
        await findings.add(item.row)
      }
      if (item.type === 'unavailable') [outcome, reason] = ['unavailable', item.reason]
      if (item.type === 'warning') reason ??= item.message
    }
    return { outcome, reason }
  } catch (error) {
    const { message } = error as Error
    parts.logger.debug({ module: id, reason: message }, 'module failed')
    return { outcome: 'failed', reason: message.slice(0, 500) }
  }
}
