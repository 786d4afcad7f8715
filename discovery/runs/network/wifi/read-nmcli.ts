import { splitTerse } from './split-terse.ts'
import { describeFrequency } from './wifi-channel.ts'
import {
  describeName,
  describeSecurity,
  type WifiNetwork,
  type WifiSecurity,
} from './wifi-network.ts'

/** Fields of `nmcli device wifi list`, in this order. */
export const NMCLI_FIELDS = [
  ...['ACTIVE', 'BSSID', 'SSID', 'FREQ', 'SIGNAL', 'SECURITY', 'RSN-FLAGS', 'DEVICE'],
] as const

/** Field that nmcli has from version 1.46 on. */
export const NMCLI_BANDWIDTH = 'BANDWIDTH'

/** Network of a line; undefined for a line of another form. */
export const readNmcliLine = (line: string, isCached: boolean): WifiNetwork | undefined => {
  const fields = splitTerse(line)
  const [active, bssid = '', ssid = '', frequency = '', signal = ''] = fields
  const [security = '', flags = '', device = '', bandwidth = ''] = fields.slice(5)
  if (fields.length < NMCLI_FIELDS.length || !/^([0-9a-f]{2}:){5}[0-9a-f]{2}$/i.test(bssid))
    return undefined
  return {
    bssid: bssid.toLowerCase(),
    ...describeName(ssid),
    interface: device.slice(0, 32) || null,
    ...describeFrequency(Number.parseInt(frequency, 10)),
    width_mhz: Number.parseInt(bandwidth, 10) || null,
    ...describeSignal(Number(signal)),
    ...describeSecurity(listModes(security, flags)),
    age_s: null,
    is_cached: isCached,
    is_connected: active === 'yes',
    source: 'nmcli',
  }
}

/**
 * NetworkManager makes percent of -100 to -40 dBm (its source, `nm_wifi_utils_level_to_quality`); a
 * signal outside of them is only known to be there.
 */
const describeSignal = (percent: number): Pick<WifiNetwork, 'signal_dbm' | 'signal_percent'> => {
  if (!Number.isInteger(percent) || percent < 0 || percent > 100)
    return { signal_dbm: null, signal_percent: null }
  return { signal_dbm: Math.round(-100 + percent * 0.6), signal_percent: percent }
}

/** Words of the column SECURITY. The column has one word for 802.1X, whatever the generation of WPA. */
const WORDS: Readonly<Record<string, WifiSecurity>> = {
  WEP: 'wep',
  WPA1: 'wpa',
  WPA: 'wpa',
  WPA2: 'wpa2',
  WPA3: 'wpa3',
  OWE: 'owe',
  'OWE-TM': 'owe',
}

const listModes = (security: string, flags: string): WifiSecurity[] => {
  const words = security.split(' ').filter(word => word !== '' && word !== '--')
  const modes = words.flatMap(word => WORDS[word] ?? [])
  if (words.includes('OWE-TM')) modes.push('open')
  if (!words.includes('802.1X')) return words.length > 0 && modes.length === 0 ? ['unknown'] : modes
  const isShared = /\b(psk|sae)\b/.test(flags)
  return isShared ? [...modes, 'enterprise'] : ['enterprise']
}
