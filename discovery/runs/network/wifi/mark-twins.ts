import { strengthOf, type WifiNetwork } from './wifi-network.ts'

export type WifiScanRow = WifiNetwork & { is_twin_suspected: boolean }

/**
 * Marks networks that may pretend to be another: one of the same name, of another vendor, is
 * protected better. It is a hint only, since a network may have access points of several vendors.
 */
export const markTwins = (networks: readonly WifiNetwork[]): WifiScanRow[] => {
  const byName = Map.groupBy(networks, ({ ssid }) => ssid)
  return networks.map(network => ({
    ...network,
    is_twin_suspected: network.ssid !== null && isTwin(network, byName.get(network.ssid) ?? []),
  }))
}

/** The other half of an OWE transition pair is open by design, and has the same radio. */
const isTwin = (network: WifiNetwork, named: readonly WifiNetwork[]): boolean => {
  const strongest = Math.max(...named.map(({ security }) => strengthOf(security)))
  if (strengthOf(network.security) >= strongest) return false
  const strong = named.filter(({ security }) => strengthOf(security) > strengthOf(network.security))
  return strong.every(({ bssid }) => vendorOf(bssid) !== vendorOf(network.bssid))
}

/** Vendor part of a BSSID. Radios that offer several networks set the local bit in the others. */
const vendorOf = (bssid: string): string => {
  const first = Number.parseInt(bssid.slice(0, 2), 16) & ~2
  return `${first.toString(16)}${bssid.slice(2, 8)}`
}
