/**
 * Measures port scans of the test bed by turns with nmap, the naming of LLM runtimes, the quick
 * discovery, and how late the event loop of a real daemon is meanwhile. It takes root; without nmap
 * only its own times are printed.
 *
 *   npm run bench -- scan [--rounds 5] [--cpu-prof FOLDER]
 */
import { parseArgs } from 'node:util'
import { FLEET_PORTS } from '../discovery/net/port-sets.ts'
import { COMMON_PORTS } from '../test/support/common-ports.ts'
import {
  BED_NETWORK,
  BED_NETWORK_6,
  listRuntimes,
  listTruth,
} from '../test/support/lan-bed/hosts.ts'
import { LanBed } from '../test/support/lan-bed/lan-bed.ts'
import { percentile, type ReportRow, report, round } from './measure.ts'
import { BedCell, type CallReport, type Stalls } from './scan/bed-cell.ts'

const SCAN_PORTS = new URL('../test/support/lan-bed/scan-ports.ts', import.meta.url).pathname
const SETS = { fleet: FLEET_PORTS, common: COMMON_PORTS }

const median = (values: readonly number[]): number => percentile(values, 50)

/** Runs a program on the scanner; times are milliseconds, its CPU time includes the kernel's. */
const time = async (bed: LanBed, ...words: string[]) => {
  const script = 'TIMEFORMAT="cpu %U %S"; time "$@" 2>/dev/null'
  const startedAt = performance.now()
  const text = await bed.run('bash', '-c', `{ ${script}; } 2>&1`, 'bash', ...words)
  const ms = performance.now() - startedAt
  const [line = '', user, system] = /^cpu (\S+) (\S+)$/m.exec(text) ?? []
  return { ms, cpuMs: (Number(user) + Number(system)) * 1000, text: text.replace(line, '') }
}

const listNmapOpen = (text: string): string[] =>
  [...text.matchAll(/^Host: (\S+) .*Ports: (.*)$/gm)]
    .flatMap(([, host, found = '']) =>
      [...found.matchAll(/(\d+)\/open\//g)].map(([, port]) => `${host} ${port}`),
    )
    .toSorted()

/** Both scans once, each from the start of its program to its end. */
const turn = async (bed: LanBed, ports: readonly number[]) => {
  const own = await time(bed, process.execPath, SCAN_PORTS, BED_NETWORK, ports.join())
  const nmap = await time(bed, 'nmap', '-sT', '-n', '-p', ports.join(), '-oG', '-', BED_NETWORK)
  const { open, elapsedMs } = JSON.parse(own.text) as { open: string[]; elapsedMs: number }
  return { own, nmap, elapsedMs, open, nmapOpen: listNmapOpen(nmap.text) }
}

const measureSet = async (
  bed: LanBed,
  name: keyof typeof SETS,
  rounds: number,
): Promise<ReportRow> => {
  const ports = SETS[name]
  const turns: Awaited<ReturnType<typeof turn>>[] = []
  for (let each = 0; each < rounds; each++) turns.push(await turn(bed, ports))
  const medianOf = (read: (of: (typeof turns)[number]) => number) => median(turns.map(read))
  const scanMs = medianOf(({ elapsedMs }) => elapsedMs)
  const nmapMs = medianOf(({ nmap }) => nmap.ms)
  const truth = listTruth().filter(each => ports.includes(Number(each.split(' ')[1])))
  const hasNmap = turns.every(({ nmapOpen }) => nmapOpen.length > 0)
  const areEqual = turns.every(({ open, nmapOpen }) => open.join() === nmapOpen.join())
  return {
    set: name,
    ports: ports.length,
    'scan ms': round(scanMs),
    'with start ms': round(medianOf(({ own }) => own.ms)),
    'with start CPU ms': round(medianOf(({ own }) => own.cpuMs)),
    'open of truth': `${turns[0]?.open.length} of ${truth.length}`,
    'nmap ms': hasNmap ? round(nmapMs) : 'not installed',
    'nmap CPU ms': hasNmap ? round(medianOf(({ nmap }) => nmap.cpuMs)) : '-',
    'scan / nmap': hasNmap ? Math.round((scanMs / nmapMs) * 100) / 100 : '-',
    'same ports': hasNmap ? String(areEqual) : '-',
  }
}

/** What a cell is asked for, with its input. */
const CALLS: readonly [skill: string, input: object][] = [
  ['runtime-discover', { subnet: BED_NETWORK }],
  ['runtime-discover', { subnet: BED_NETWORK_6 }],
  ['snmp-discover', { subnet: BED_NETWORK }],
  ['mdns-scan', {}],
  ['network-map', {}],
  ['http-fingerprint', { host: '10.77.0.2', port: 80 }],
  ['discovery-quick', {}],
]

const IDLE_MS = 5000

const measureCell = async (bed: LanBed, rounds: number, flags: string[]): Promise<ReportRow[]> => {
  const modules = { 'snmp-discover': { communities: ['public'] } }
  const scope = ['10.77.0.0/24', BED_NETWORK_6]
  const cell = await BedCell.start(bed, { scope, modules }, flags)
  try {
    await cell.takeStalls()
    await new Promise(resolve => setTimeout(resolve, IDLE_MS))
    const rows = [stallRow('nothing', [], [await cell.takeStalls()])]
    for (const [skill, input] of CALLS) {
      const calls: CallReport[] = []
      const stalls: Stalls[] = []
      for (let each = 0; each < rounds; each++) {
        calls.push(await cell.call(skill, input))
        stalls.push(await cell.takeStalls())
      }
      rows.push(stallRow(skill, calls, stalls))
    }
    const together = await Promise.all(CALLS.map(([skill, input]) => cell.call(skill, input)))
    rows.push(stallRow('all at once', together, [await cell.takeStalls()]))
    return rows
  } finally {
    await cell.stop()
  }
}

const stallRow = (
  skill: string,
  calls: readonly CallReport[],
  stalls: readonly Stalls[],
): ReportRow => {
  const failed = calls.flatMap(each => each.failed)
  return {
    skill,
    'median ms': round(median(calls.map(({ ms }) => ms)) || 0),
    'longest ms': round(Math.max(0, ...calls.map(({ ms }) => ms))),
    findings: calls[0]?.findings ?? 0,
    failed: failed.join('; ') || calls.filter(({ status }) => status !== 200).length,
    'loop late p99 ms': round(Math.max(...stalls.map(({ p99 }) => p99))),
    'loop late max ms': round(Math.max(...stalls.map(({ max }) => max))),
    'CPU of a tick, max ms': round(Math.max(...stalls.map(({ cpuMs }) => cpuMs))),
  }
}

export const main = async (argv: string[]): Promise<void> => {
  const { values } = parseArgs({
    args: argv,
    options: { rounds: { type: 'string', default: '5' }, 'cpu-prof': { type: 'string' } },
  })
  const rounds = Math.min(50, Math.max(1, Number(values.rounds)))
  const profile = values['cpu-prof']
  const flags = profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`]
  const bed = await LanBed.create()
  if (typeof bed === 'string') return console.log(bed)
  const settings = { rounds, programs: bed.programs.toSorted().join() }
  try {
    report('scan', settings, [
      await measureSet(bed, 'fleet', rounds),
      await measureSet(bed, 'common', rounds),
    ])
    const runtimes = { ...settings, runtimes: listRuntimes().length }
    report('scan-cell', runtimes, await measureCell(bed, rounds, flags))
  } finally {
    await bed.close()
  }
}
