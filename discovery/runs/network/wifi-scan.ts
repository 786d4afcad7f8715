import { NotPossibleHere, type ScanRun } from '../../scan-run.ts'
import { markTwins, type WifiScanRow } from './wifi/mark-twins.ts'
import { readConnections } from './wifi/read-connection.ts'
import { scanByIw } from './wifi/scan-iw.ts'
import { scanByNmcli, type WifiScan } from './wifi/scan-nmcli.ts'

const run: ScanRun<Record<string, never>, WifiScanRow> = async function* (_input, context) {
  const { signal, warn } = context
  const scan = (await scanByNmcli(signal)) ?? (await scanByIw(signal)) ?? (await readConnected())
  if (scan.lack !== undefined) warn('partial_result', scan.lack)
  if (scan.unread > 0)
    warn('unparsed_record', `${scan.unread} lines of nmcli have an unknown format`)
  yield* markTwins(scan.networks)
}

export default run

const readConnected = async (): Promise<WifiScan> => {
  if (process.platform === 'linux')
    throw new NotPossibleHere(
      'neither NetworkManager (nmcli) nor iw answers: install one of them to scan for Wi-Fi',
    )
  const lack = 'only the network that the machine is connected to is known on this system'
  return { networks: await readConnections(), unread: 0, lack }
}
