/*
 * Loaded into a measured process beside its own code. Measures by how much a short timer is late, and
 * the CPU time that the thread uses from one tick to the next, and prints both at each SIGUSR2: a late
 * tick without CPU time waited for the disk, or for another process on the same core.
 */

const TICK_MS = 2

let delays: number[] = []
let cpuMs = 0
let last = performance.now()
let lastCpu = process.threadCpuUsage()

const tick = (): void => {
  const now = performance.now()
  delays.push(Math.max(0, now - last - TICK_MS))
  const { user, system } = process.threadCpuUsage(lastCpu)
  cpuMs = Math.max(cpuMs, (user + system) / 1000)
  last = now
  lastCpu = process.threadCpuUsage()
  setTimeout(tick, TICK_MS).unref()
}
setTimeout(tick, TICK_MS).unref()

process.on('SIGUSR2', () => {
  const sorted = delays.toSorted((a, b) => a - b)
  const p99 = sorted[Math.floor(sorted.length * 0.99)] ?? 0
  const max = sorted.at(-1) ?? 0
  process.stdout.write(`${JSON.stringify({ msg: 'stalls', p99, max, cpuMs })}\n`)
  delays = []
  cpuMs = 0
})
