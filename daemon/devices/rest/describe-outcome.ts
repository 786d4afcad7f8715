import type { DeviceOutcome, Seen } from '../../../shared/wire/device-outcome.ts'

/** Most orders that a text names; the newest ones. */
const MAX_NAMED = 3

/** One line with the operations asked and the state seen: `asked halt hold (no answer); seen moving at 9.8 m/s`. */
export const describeOutcome = ({ asked, seen }: DeviceOutcome): string => {
  const orders = asked.sent
    .slice(-MAX_NAMED)
    .map(({ name, answer }) => `${name} (${answer ?? 'no answer'})`)
  return `asked ${orders.join(', ') || 'nothing'}; ${describeSeen(seen)}`
}

const describeSeen = ({ state, values }: Seen): string => {
  if (state === 'unknown') return 'no observation since'
  const speed = typeof values.speed_m_s === 'number' ? ` at ${values.speed_m_s.toFixed(1)} m/s` : ''
  return `seen ${state.replace('_', ' ')}${state === 'moving' ? speed : ''}`
}
