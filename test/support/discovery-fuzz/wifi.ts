import module from '../../../discovery/modules/network/wifi-scan.ts'
import { markTwins } from '../../../discovery/runs/network/wifi/mark-twins.ts'
import { readNmcliLine } from '../../../discovery/runs/network/wifi/read-nmcli.ts'
import { randomOf } from '../random.ts'
import { addResults, checkRows, type FuzzResult, NOTHING } from './fuzz-result.ts'
import { mutate } from './mutate.ts'

/** Lines as nmcli(1) writes them with `--terse --escape yes`. */
const LINES = [
  String.raw`yes:3C\:84\:6A\:00\:00\:01:Cafe\: Free WiFi:2437 MHz:72::(none):wlan0:20 MHz`,
  String.raw`no:3C\:84\:6A\:00\:00\:02:back\\slash:5180 MHz:100:WPA2 WPA3:pair_ccmp psk sae:wlan0:80 MHz`,
  String.raw`no:3C\:84\:6A\:00\:00\:03::5955 MHz:31:WPA3:pair_ccmp group_ccmp sae:wlan0:160 MHz`,
  String.raw`no:3C\:84\:6A\:00\:00\:04:Straße 東京 ☕:2484 MHz:0:WPA1 WPA2:pair_tkip psk:wlan0`,
  String.raw`no:3C\:84\:6A\:00\:00\:05:corp:2412 MHz:55:WPA2 802.1X:pair_ccmp 802.1X:wlan0:20 MHz`,
  String.raw`no:00\:11\:22\:00\:00\:08:corp:2412 MHz:90:--:(none):wlan0:20 MHz`,
].map(line => Buffer.from(line))

/** Lines of one answer. */
const PER_SCAN = 50

/** Sends invented lines of nmcli through the parser of `wifi-scan`. */
export const fuzzWifi = (count: number, seed: number): FuzzResult => {
  const random = randomOf(seed)
  let total = NOTHING
  for (let done = 0; done < count && total.fault === undefined; done += PER_SCAN) {
    const lines = Array.from({ length: Math.min(PER_SCAN, count - done) }, () =>
      mutate(random.pick(LINES), random).toString(),
    )
    const networks = lines.flatMap(line => readNmcliLine(line, false) ?? [])
    const checked = checkRows(module, markTwins(networks))
    total = addResults(total, { heard: networks.length, ...checked })
  }
  return total
}
