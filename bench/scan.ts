/**
 * Measures port scans of twelve hosts in network namespaces, by turns with nmap, and the time to name
 * LLM runtimes. It takes root; without nmap only its own times are printed.
 *
 *   npm run bench -- scan [--rounds 5]
 */
import { parseArgs } from 'node:util'
import { COMMON_PORTS, FLEET_PORTS } from '../discovery/net/port-sets.ts'
import { BED_NETWORK, listTruth } from '../test/support/lan-bed/hosts.ts'
import { LanBed } from '../test/support/lan-bed/lan-bed.ts'
import { percentile, type ReportRow, report, round } from './measure.ts'

const SCAN_PORTS = new URL('../test/support/lan-bed/scan-ports.ts', import.meta.url).pathname
const SETS = { fleet: FLEET_PORTS, common: COMMON_PORTS }

const median = (values: readonly number[]): number => percentile(values, 50)

const time = (work: () => string): { ms: number; text: string } => {
  const startedAt = performance.now()
  const text = work()
  return { ms: performance.now() - startedAt, text }
}

/** Both scans once, each from the start of its program to its end. */
const turn = (bed: LanBed, ports: readonly number[]) => {
  const own = time(() => bed.run(process.execPath, SCAN_PORTS, BED_NETWORK, ports.join()))
  const nmap = time(() => bed.run('nmap', '-sT', '-n', '-p', ports.join(), '-oG', '-', BED_NETWORK))
  const { open, elapsedMs } = JSON.parse(own.text) as { open: string[]; elapsedMs: number }
  const nmapOpen = [...(nmap.text ?? '').matchAll(/\d+\/open\//g)].length
  return { wholeMs: own.ms, ownMs: elapsedMs, open: open.length, nmapMs: nmap.ms, nmapOpen }
}

const measureSet = (bed: LanBed, name: keyof typeof SETS, rounds: number): ReportRow => {
  const ports = SETS[name]
  const turns = Array.from({ length: rounds }, () => turn(bed, ports))
  const hasNmap = turns.every(({ nmapOpen }) => nmapOpen > 0)
  const scan = median(turns.map(({ ownMs }) => ownMs))
  const nmap = median(turns.map(({ nmapMs }) => nmapMs))
  const truth = listTruth().filter(each => ports.includes(Number(each.split(' ')[1])))
  return {
    set: name,
    ports: ports.length,
    'scan ms': round(scan),
    'with start ms': round(median(turns.map(({ wholeMs }) => wholeMs))),
    'nmap ms': hasNmap ? round(nmap) : 'not installed',
    'scan / nmap': hasNmap ? Math.round((scan / nmap) * 100) / 100 : '-',
    'open of truth': `${turns[0]?.open} of ${truth.length}`,
    'nmap open': hasNmap ? (turns[0]?.nmapOpen ?? 0) : '-',
  }
}

const measureRuntimes = async (bed: LanBed, rounds: number): Promise<ReportRow> => {
  const order = { module: 'runtime-discover', input: { subnet: BED_NETWORK }, scope: [BED_NETWORK] }
  // the first one starts the helper process
  const [, ...reports] = await bed.scan(Array.from({ length: rounds + 1 }, () => order))
  return {
    'runtime-discover ms': round(median(reports.map(({ elapsedMs }) => elapsedMs))),
    runtimes: reports[0]?.rows.length ?? 0,
    'loop delay of the daemon, max ms': Math.max(
      ...reports.map(({ loopDelayMaxMs }) => loopDelayMaxMs),
    ),
  }
}

export const main = async (argv: string[]): Promise<void> => {
  const { values } = parseArgs({
    args: argv,
    options: { rounds: { type: 'string', default: '5' } },
  })
  const rounds = Math.min(50, Math.max(1, Number(values.rounds)))
  const bed = await LanBed.create()
  if (typeof bed === 'string') return console.log(bed)
  try {
    report('scan', { rounds, programs: bed.programs.join() }, [
      measureSet(bed, 'fleet', rounds),
      measureSet(bed, 'common', rounds),
    ])
    report('scan-runtimes', { rounds }, [await measureRuntimes(bed, rounds)])
  } finally {
    await bed.close()
  }
}
