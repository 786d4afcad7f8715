import { planRun } from './plan-run.ts'
import { isWaiting } from './slow-files.ts'

/** One part of a run that several machines divide: `1/3` is the first of three. */
interface Shard {
  index: number
  count: number
}

/** Parses `1/3`; undefined for any other text. */
export const parseShard = (text: string): Shard | undefined => {
  const [, index = 0, count = 0] = (/^(\d{1,3})\/(\d{1,3})$/.exec(text) ?? []).map(Number)
  return index >= 1 && index <= count ? { index, count } : undefined
}

/** Plan of one part of a run: each entry is the files of one process. */
export interface ShardPlan {
  /** Processes that wait for most of their time, which run beside all others. */
  waiting: (readonly string[])[]
  /** Other processes, in the order in which they start. */
  planned: (readonly string[])[]
}

/**
 * Plans the run of one part. Each process belongs to one part, by turns in the order of the plan, so
 * that the parts take about the same time.
 */
export const planShard = (files: readonly string[], { index, count }: Shard): ShardPlan => {
  const waiting = files.filter(isWaiting).map(file => [file])
  const planned = planRun(files.filter(file => !isWaiting(file)))
  const isOwn = (at: number): boolean => at % count === index - 1
  return {
    waiting: waiting.filter((_, at) => isOwn(at)),
    planned: planned.filter((_, at) => isOwn(waiting.length + at)),
  }
}
