/** Counters of the first line of /proc/stat (proc_stat(5)), in ticks since boot. */
export interface CpuTicks {
  busy: number
  total: number
}

export const parseCpu = (text: string): CpuTicks | null => {
  const line = /^cpu +(.+)$/m.exec(text)?.[1]
  if (line === undefined) return null
  // guest time is already in user time
  const ticks = line.split(' ').slice(0, 8).map(Number)
  const total = ticks.reduce((sum, value) => sum + value, 0)
  const idle = (ticks[3] ?? 0) + (ticks[4] ?? 0)
  return Number.isFinite(total) ? { busy: total - idle, total } : null
}

/**
 * Load of all cores between two readings in percent, to a tenth; null without two distinct
 * readings.
 */
export const computeCpuPercent = (
  before: CpuTicks | null,
  after: CpuTicks | null,
): number | null => {
  if (before === null || after === null || after.total <= before.total) return null
  const percent = (100 * (after.busy - before.busy)) / (after.total - before.total)
  return Math.round(Math.min(100, Math.max(0, percent)) * 10) / 10
}

/** Parses MemTotal and MemAvailable of /proc/meminfo (proc_meminfo(5)), in bytes. */
export const parseMemory = (text: string): { total: number | null; used: number | null } => {
  const readKib = (name: string): number | null => {
    const value = new RegExp(`^${name}: +(\\d+) kB$`, 'm').exec(text)?.[1]
    return value === undefined ? null : Number(value) * 1024
  }
  const total = readKib('MemTotal')
  const available = readKib('MemAvailable')
  return { total, used: total === null || available === null ? null : total - available }
}

/** Bytes received and sent, by interface. */
export type NetworkCounters = Map<string, { received: number; sent: number }>

/** Parses /proc/net/dev (proc_pid_net(5)) without loopback. */
export const parseNetwork = (text: string): NetworkCounters => {
  const counters: NetworkCounters = new Map()
  for (const line of text.split('\n')) {
    const [, name, numbers] = /^\s*([^:]+):\s*(.+)$/.exec(line) ?? []
    if (name === undefined || numbers === undefined || name === 'lo') continue
    const values = numbers.trim().split(/\s+/).map(Number)
    const [received, sent] = [values[0], values[8]]
    if (Number.isFinite(received) && Number.isFinite(sent))
      counters.set(name, { received: received as number, sent: sent as number })
  }
  return counters
}

/** Bytes per second over the interfaces in both readings; null without two readings. */
export const computeNetworkRates = (
  before: NetworkCounters | null,
  after: NetworkCounters,
  milliseconds: number,
): { received: number | null; sent: number | null } => {
  if (before === null || milliseconds <= 0) return { received: null, sent: null }
  let [received, sent] = [0, 0]
  for (const [name, now] of after) {
    const then = before.get(name)
    // a counter that decreased belongs to an interface that was recreated
    if (then === undefined || now.received < then.received || now.sent < then.sent) continue
    received += now.received - then.received
    sent += now.sent - then.sent
  }
  const perSecond = 1000 / milliseconds
  return { received: Math.round(received * perSecond), sent: Math.round(sent * perSecond) }
}
