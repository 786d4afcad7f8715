import type { WiFiNetwork } from 'node-wifi'
import { describeFrequency } from './wifi-channel.ts'
import {
  describeName,
  describeSecurity,
  type WifiNetwork,
  type WifiSecurity,
} from './wifi-network.ts'

/**
 * The network that the machine is connected to, where neither nmcli nor iw exists. The list of the
 * library is not used: it splits names at colons.
 */
export const readConnections = async (): Promise<WifiNetwork[]> => {
  const { LANG, LC_ALL, LC_MESSAGES } = process.env
  const { default: wifi } = await import('node-wifi')
  // the import sets a locale for the whole process
  restore({ LANG, LC_ALL, LC_MESSAGES })
  wifi.init({ iface: null })
  return (await wifi.getCurrentConnections()).flatMap(toNetwork)
}

const restore = (values: Record<string, string | undefined>): void => {
  for (const [name, value] of Object.entries(values))
    if (value === undefined) delete process.env[name]
    else process.env[name] = value
}

/** Network of a connection; none when the system does not tell the address of the access point. */
export const toNetwork = (found: Partial<WiFiNetwork>): WifiNetwork[] => {
  const bssid = found.bssid?.toLowerCase() ?? ''
  if (!/^([0-9a-f]{2}:){5}[0-9a-f]{2}$/.test(bssid)) return []
  const { signal_level = Number.NaN, quality = Number.NaN } = found
  return [
    {
      bssid,
      ...describeName(found.ssid ?? ''),
      interface: null,
      ...describeFrequency(Number(found.frequency)),
      width_mhz: null,
      signal_dbm: Number.isFinite(Number(signal_level)) ? Number(signal_level) : null,
      signal_percent: quality >= 0 && quality <= 100 ? Math.round(quality) : null,
      ...describeSecurity([securityOf(found.security ?? '')]),
      age_s: null,
      is_cached: false,
      is_connected: true,
      source: 'node-wifi',
    },
  ]
}

const securityOf = (text: string): WifiSecurity => {
  if (/enterprise|802\.1x/i.test(text)) return 'enterprise'
  if (/wpa3|sae/i.test(text)) return 'wpa3'
  if (/wpa2/i.test(text)) return 'wpa2'
  if (/wpa/i.test(text)) return 'wpa'
  if (/wep/i.test(text)) return 'wep'
  return /^(none|open|)$/i.test(text) ? 'open' : 'unknown'
}
