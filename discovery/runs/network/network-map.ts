import { existsSync } from 'node:fs'
import type { ScanRun } from '../../scan-run.ts'
import { listMapRows, type MapRow } from './map/map-rows.ts'
import { readNetwork } from './map/read-network.ts'

/** The kernel has this folder for wireless interfaces (cfg80211). */
const isWifi = (name: string): boolean => existsSync(`/sys/class/net/${name}/phy80211`)

/** Reads what the kernel already knows about the network; nothing is sent to it. */
const run: ScanRun<Record<string, never>, MapRow> = async function* (_input, { signal }) {
  yield* listMapRows(await readNetwork(signal), isWifi)
}

export default run
