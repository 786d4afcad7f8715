import { NotPossibleHere } from '../../../scan-run.ts'
import { readIwScan } from './read-iw.ts'
import { type ProgramResult, runProgram } from './run-program.ts'
import { CACHED, type WifiScan } from './scan-nmcli.ts'

/** Interfaces that are scanned; a machine has one or two. */
const MAX_INTERFACES = 4

/**
 * Scans by the kernel (nl80211); undefined when `iw` is not installed. Without the right to scan, or
 * while the adapter is busy, it gives what the kernel still has of the last scan.
 * @throws NotPossibleHere without an adapter, or without the right to scan
 */
export const scanByIw = async (signal: AbortSignal): Promise<WifiScan | undefined> => {
  const devices = await runProgram('iw', ['dev'], signal)
  if (devices === undefined) return undefined
  const names = [...devices.stdout.matchAll(/^[ \t]*Interface (\S{1,32})$/gm)].map(
    ([, name]) => name,
  )
  if (names.length === 0) throw new NotPossibleHere('this machine has no Wi-Fi adapter')
  const scans: WifiScan[] = []
  for (const name of names.slice(0, MAX_INTERFACES)) scans.push(await scan(name as string, signal))
  return {
    networks: scans.flatMap(({ networks }) => networks),
    unread: 0,
    lack: scans.find(each => each.lack !== undefined)?.lack,
  }
}

const scan = async (name: string, signal: AbortSignal): Promise<WifiScan> => {
  const fresh = await runProgram('iw', ['dev', name, 'scan'], signal)
  if (fresh?.status === 0) return createScan(fresh, false)
  const last = await runProgram('iw', ['dev', name, 'scan', 'dump'], signal)
  const found = last?.status === 0 ? createScan(last, true) : undefined
  if (found !== undefined && found.networks.length > 0) return found
  const reason = fresh?.stderr.trim() || 'no reason given'
  throw new NotPossibleHere(
    /not permitted/i.test(reason)
      ? `iw may not scan on ${name}: it needs CAP_NET_ADMIN, or install NetworkManager`
      : `iw could not scan on ${name}: ${reason}`,
  )
}

const createScan = ({ stdout }: ProgramResult, isCached: boolean): WifiScan => ({
  networks: readIwScan(stdout, isCached),
  unread: 0,
  lack: isCached ? CACHED : undefined,
})
