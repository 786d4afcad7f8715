import type { UsageLoss } from './usage-check.ts'

/** One line about the hours with a loss and the newest of them; at least one is given. */
export const describeLosses = (losses: readonly UsageLoss[]): string => {
  const [newest] = losses
  return `usage is missing or was changed in ${formatHours(losses.length)}: ${newest && formatLoss(newest)}`
}

const formatHours = (count: number): string => (count === 1 ? 'one hour' : `${count} hours`)

const formatLoss = ({ hourAt, isDay, expected, found }: UsageLoss): string =>
  `${isDay ? `the sum of ${new Date(hourAt).toISOString().slice(0, 10)}` : `${new Date(hourAt).toISOString().slice(0, 13)}Z`} has ${found.requests} of ${expected.requests} requests and ${found.tokens} of ${expected.tokens} tokens`
