import type { Base } from '../../kernel/base/base.ts'
import { Listeners } from '../../kernel/base/listeners.ts'
import type { OpenMinute } from '../../kernel/base/minute.ts'
import { MinuteWindow } from '../../kernel/base/minute-window.ts'
import type { OpenLeader } from '../../kernel/leader/open.ts'
import { createElapsedMs } from '../../kernel/leases/elapsed.ts'
import type { Replicas } from '../../kernel/replicas/replicas.ts'
import type { StoreProbe } from '../../kernel/store/probe.ts'
import type { Store } from '../../kernel/store/store.ts'
import { openSharedLimits } from './open-shared.ts'
import { LeasedQuota, type Quota } from './quota.ts'
import { type Refusal, Refusals } from './refusals.ts'
import type { TierSettings } from './tiers.ts'
import { createUsage, type NewUsage } from './usage.ts'
import { type JournaledUsage, journalUsage } from './usage-journal.ts'
import { createUsageKeeper } from './usage-keeper.ts'
import { queryUsage, type UsageLine, type UsageQuestion } from './usage-query.ts'
import { UsageWatch } from './usage-watch.ts'

/** Allowances and what was used of them. */
export interface QuotaViews {
  tiers: TierSettings
  usage: {
    /** Sums up to this moment. Rejects with `store_unavailable` while some cannot be written. */
    read(question: UsageQuestion): Promise<UsageLine[]>
  }
}

/** Usage for the parts that answer requests. */
interface RecordedUsage extends Pick<JournaledUsage, 'record'> {
  countRefusal(refusal: Refusal): void
  /** Reports every row after it was recorded. Returns how to stop that. */
  onRecorded(listener: (row: NewUsage) => void): () => void
  /** Returns what is missing of the recorded usage; undefined while it is whole. */
  trouble(): string | undefined
}

interface QuotaParts
  extends Pick<Base, 'stack' | 'schedules' | 'logger' | 'now' | 'runtime'>,
    Pick<OpenLeader, 'leaderWork'> {
  config: {
    state_dir: string
    tiers: TierSettings
    usage: { row_days: number; bucket_days: number }
  }
  store: Store
  probe: Pick<StoreProbe, 'noteFailure'>
  replicas: Pick<Replicas, 'id' | 'live'>
  metrics: { quota: { watch(quota: Quota): Quota } }
}

const SWEEP_SECONDS = 10
const TIDY_SECONDS = 60
const RETURN_SECONDS = 0.25
const CHECK_SECONDS = 3600
const REFUSAL_SECONDS = 10

interface OpenedQuota {
  quota: Quota
  openMinute: OpenMinute
  /** Clock of these minutes, which does not stand still while the machine is suspended. */
  minuteTicks: () => number
  usage: RecordedUsage
  views: QuotaViews
}

export const openQuota = async (parts: QuotaParts): Promise<OpenedQuota> => {
  const { config, store, metrics, stack, schedules, leaderWork, logger } = parts
  const { records } = store
  const keeper = createUsageKeeper({
    records,
    ledger: store.ledger,
    retention: config.usage,
    now: parts.now,
  })
  leaderWork.every('usage.tidy', TIDY_SECONDS, () => keeper.tidy())
  stack.defer(() => keeper.close())

  const minuteTicks = createElapsedMs(parts.runtime)
  const shared = store.isShared ? openSharedLimits({ ...parts, minuteTicks }) : undefined
  const quota = metrics.quota.watch(
    new LeasedQuota({ store, tiers: config.tiers, logger, ticks: minuteTicks, ...shared }),
  )
  stack.defer(() => quota.close())
  schedules.every('quota.sweep', SWEEP_SECONDS, () => quota.sweep())
  if (shared) schedules.every('quota.return', RETURN_SECONDS, () => quota.returnRecalled())

  const journal = await journalUsage(createUsage(store), {
    stateDir: config.state_dir,
    logger,
    runtime: parts.runtime,
    onFailure: parts.probe.noteFailure,
  })
  stack.defer(() => journal.close())
  const watch = await UsageWatch.open({ store, logger })
  stack.defer(() => watch.close())
  stack.defer(store.revisions.onChange('usage', () => void watch.check()))
  schedules.every('usage.check', CHECK_SECONDS, () => watch.check())
  const refusals = new Refusals(records)
  stack.defer(() => refusals.flush())
  schedules.every('usage.refusals', REFUSAL_SECONDS, () => refusals.flush())
  const recorded = new Listeners<[NewUsage]>()
  const record: RecordedUsage['record'] = async row => {
    await journal.record(row)
    recorded.notify(row)
  }
  const read: QuotaViews['usage']['read'] = async question => {
    await journal.settle()
    await refusals.flush()
    return queryUsage(records, question)
  }
  return {
    quota,
    openMinute: shared?.openMinute ?? (() => new MinuteWindow()),
    minuteTicks,
    usage: {
      record,
      countRefusal: refusals.count,
      onRecorded: recorded.add,
      trouble: () => watch.trouble(),
    },
    views: { tiers: config.tiers, usage: { read } },
  }
}
