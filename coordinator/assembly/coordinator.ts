import type { Logger } from 'pino'
import type { OnReload } from '../../shared/reload-on-hangup.ts'
import { type Runtime, systemRuntime } from '../../shared/runtime.ts'
import { openFlowCalls } from '../agents/flows/operations/open.ts'
import { type CallViews, createCallViews } from '../calls/invoke/call-views.ts'
import { openPipeline } from '../calls/invoke/open.ts'
import type { CoordinatorConfig } from '../config.ts'
import { domains } from '../domains.ts'
import type { Base } from '../kernel/base/base.ts'
import { type OpenedParts, type OpenPart, openAll, type ViewsOf } from '../kernel/base/open-all.ts'
import { Timers } from '../kernel/base/timers.ts'
import type { Skill } from '../kernel/declaration/skill.ts'
import { openWorker } from '../kernel/queue/open-worker.ts'
import type { A2aParts } from '../surfaces/a2a/a2a-routes.ts'
import { openReaders, openTasks, recoverTasks } from '../surfaces/a2a/open.ts'
import { openPush } from '../surfaces/a2a/push/open.ts'
import { operations } from '../surfaces/catalogue/operations.ts'
import { skills } from '../surfaces/catalogue/skills.ts'
import { openAskModel } from '../surfaces/http/open-ask-model.ts'
import { openSpeakers } from '../surfaces/speakers/open.ts'
import { openUpgrades } from './cell-ports.ts'
import { openRoutes } from './open-routes.ts'

export interface CoordinatorOptions {
  /** Unix time, milliseconds. */
  now?: () => number
  /** Monotonic milliseconds. */
  nowMs?: () => number
  /** Runtime that a test or a simulation provides in place of the machine's. */
  runtime?: Partial<Runtime>
  /** Skills beside those of the catalogue. */
  moreSkills?: readonly Skill[]
  /** Answers A2A in place of the skills. */
  fixture?: A2aParts['fixture']
  env?: Record<string, string | undefined>
  /** Registers a listener for the configuration after each reload. */
  onReload?: OnReload<CoordinatorConfig>
}

/** Creates the parts that the first opened part depends on. */
const createBeginning = (
  config: CoordinatorConfig,
  logger: Logger,
  stack: AsyncDisposableStack,
  options: CoordinatorOptions,
) => {
  const { now = systemRuntime.now, nowMs = systemRuntime.nowMs } = options
  const runtime = { ...systemRuntime, now, nowMs, ...options.runtime }
  const { moreSkills = [], fixture, env = process.env, onReload } = options
  const base: Base = {
    logger,
    runtime,
    now: runtime.now,
    nowMs: runtime.nowMs,
    stack,
    schedules: new Timers({ stack, logger, runtime }),
  }
  const offered = [...skills, ...moreSkills]
  return {
    ...base,
    config,
    env,
    onReload,
    skills: offered,
    moreSkills,
    callable: [...operations, ...offered],
    fixture,
    views: createCallViews(offered, runtime),
  }
}

/** Every part of the coordinator but its ports, in the order in which they open. */
export const parts = [
  ...domains,
  openReaders,
  openPush,
  openWorker,
  openPipeline,
  openTasks,
  openFlowCalls,
  openAskModel,
  openSpeakers,
  openRoutes,
  openUpgrades,
  recoverTasks,
] as const

/** Views of every part, on which operations act; operations never see a store. */
export type Views = CallViews & ViewsOf<typeof parts>

/**
 * Opens the parts of a list, in production as in tests. `close` closes them in reverse order; when
 * one cannot be opened, those before it are closed and its failure is thrown.
 */
export const openCoordinator = async <const List extends readonly OpenPart[]>(
  list: List,
  config: CoordinatorConfig,
  logger: Logger,
  options: CoordinatorOptions = {},
): Promise<
  OpenedParts<ReturnType<typeof createBeginning>, List> & { close: () => Promise<void> }
> => {
  const stack = new AsyncDisposableStack()
  try {
    const opened = await openAll(createBeginning(config, logger, stack, options), list)
    return { ...opened, close: () => stack.disposeAsync() }
  } catch (error) {
    await stack.disposeAsync().catch(also => logger.error({ err: also }, 'a part failed to close'))
    throw error
  }
}
