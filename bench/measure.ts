import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { join } from 'node:path'

/** Linux counts CPU time in units of 10 ms (`getconf CLK_TCK` is 100). */
const TICK_MS = 10

/** CPU time that a process has used, milliseconds (proc_pid_stat(5), fields 14 and 15). */
export const cpuMs = (pid: number): number => {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS
}

/** Memory of a process that is in RAM, MiB. */
export const rssMiB = (pid: number): number => {
  const kib = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Math.round(Number(kib) / 1024)
}

/** Nearest rank; NaN of nothing. */
export const percentile = (values: readonly number[], percent: number): number => {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))] ?? NaN
}

const readUnit = (): string =>
  readFileSync(new URL('../systemd/shoal-coordinator.service', import.meta.url), 'utf8')

/** Flags of Node in the unit of the coordinator, so that what is measured is what is shipped. */
export const readServiceFlags = (): string[] => {
  const [, flags = ''] = /^ExecStart=\S+ ((?:--\S+ )+)\S+\.mjs/m.exec(readUnit()) ?? []
  return flags.trim().split(' ')
}

/** Settings of the memory allocator in the unit of the coordinator. */
export const readServiceEnv = (): Record<string, string> =>
  Object.fromEntries(
    [...readUnit().matchAll(/^Environment=(MALLOC_\w+)=(\S+)$/gm)].map(([, name, value]) => [
      name,
      value,
    ]),
  )

export const round = (value: number): number => Math.round(value * 10) / 10

export type ReportRow = Record<string, string | number>

/** Prints the rows and keeps them in `bench/results/`, with the machine and its load. */
export const report = (name: string, settings: object, rows: ReportRow[]): void => {
  console.table(rows)
  const folder = join(import.meta.dirname, 'results')
  mkdirSync(folder, { recursive: true })
  const machine = { cpu: cpus()[0]?.model, cpus: cpus().length, load: loadavg().map(round) }
  const at = new Date().toISOString()
  const path = join(folder, `${name}-${at.replaceAll(/[:.]/g, '-')}.json`)
  writeFileSync(path, `${JSON.stringify({ name, at, machine, settings, rows }, null, 2)}\n`)
  console.log(`load ${machine.load.join(' ')} on ${machine.cpus} CPUs; kept in ${path}`)
}
