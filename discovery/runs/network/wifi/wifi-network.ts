import type * as z from 'zod'
import type { WifiRow } from '../../../modules/network/wifi-scan.ts'

export type WifiSecurity = z.infer<typeof WifiRow>['security']

/** A network as a program reported it; the row adds what follows from the others. */
export type WifiNetwork = Omit<z.infer<typeof WifiRow>, 'is_twin_suspected'>

/** Modes from the weakest; a network is as strong as the weakest mode that it accepts. */
const BY_STRENGTH: readonly WifiSecurity[] = [
  ...(['open', 'unknown', 'wep', 'owe', 'wpa', 'wpa2', 'wpa3', 'enterprise'] as const),
]

export const strengthOf = (security: WifiSecurity): number => BY_STRENGTH.indexOf(security)

/** Security of a network with these modes. */
export const describeSecurity = (
  modes: Iterable<WifiSecurity>,
): Pick<WifiNetwork, 'security' | 'security_modes'> => {
  const sorted = [...new Set(modes)].sort((a, b) => strengthOf(a) - strengthOf(b))
  return { security: sorted[0] ?? 'open', security_modes: sorted.length === 0 ? ['open'] : sorted }
}

/** SSIDs of hidden networks are empty, or zeros in the length of the name (IEEE 802.11, 9.4.2.2). */
export const describeName = (ssid: string): Pick<WifiNetwork, 'ssid' | 'is_hidden'> => {
  const isHidden = [...ssid].every(letter => letter === '\0')
  return { ssid: isHidden ? null : ssid.slice(0, 64), is_hidden: isHidden }
}
