import { planRun } from './plan-run.ts'
import { isWaiting } from './slow-files.ts'

/** One part of a run that several machines divide: `1/3` is the first of three. */
export interface Shard {
  index: number
  count: number
}

/** Parses `1/3`; undefined for any other text. */
export const parseShard = (text: string): Shard | undefined => {
  const [, index = 0, count = 0] = (/^(\d{1,3})\/(\d{1,3})$/.exec(text) ?? []).map(Number)
  return index >= 1 && index <= count ? { index, count } : undefined
}

/**
 * Files of one part. Each process of the plan belongs to one part, by turns in the order of the
 * plan, so that the parts take about the same time.
 */
export const listShard = (files: readonly string[], { index, count }: Shard): string[] => {
  const waiting = files.filter(isWaiting).map(file => [file])
  const processes = [...waiting, ...planRun(files.filter(file => !isWaiting(file)))]
  return processes.filter((_, at) => at % count === index - 1).flat()
}
