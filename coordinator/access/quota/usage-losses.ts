import type { UsageLoss } from './usage-check.ts'

/** One line about the hours and days with a loss and the first of them; at least one is given. */
export const describeLosses = (losses: readonly UsageLoss[]): string => {
  const [newest] = losses
  const days = losses.filter(({ isDay }) => isDay).length
  const spans = [count(losses.length - days, 'hour'), count(days, 'day')].filter(
    text => text !== '',
  )
  return `usage is missing or was changed in ${spans.join(' and ')}: ${newest && formatLoss(newest)}`
}

const count = (number: number, noun: string): string => {
  if (number === 0) return ''
  return number === 1 ? `one ${noun}` : `${number} ${noun}s`
}

const formatLoss = ({ hourAt, isDay, expected, found }: UsageLoss): string =>
  `${formatSpan(hourAt, isDay === true)} has ${found.requests} of ${expected.requests} requests and ${found.tokens} of ${expected.tokens} tokens`

const formatSpan = (at: number, isDay: boolean): string => {
  const time = new Date(at).toISOString()
  return isDay ? `the sum of ${time.slice(0, 10)}` : `${time.slice(0, 13)}Z`
}
