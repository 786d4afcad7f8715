import { describeFrequency } from './wifi-channel.ts'
import {
  describeName,
  describeSecurity,
  type WifiNetwork,
  type WifiSecurity,
} from './wifi-network.ts'

const START = /^BSS ([0-9a-f]{2}(?::[0-9a-f]{2}){5})\(on ([^)]{1,32})\)(.*)$/

/** Networks of an answer of `iw dev <interface> scan`. */
export const readIwScan = (text: string, isCached: boolean): WifiNetwork[] => {
  const blocks = text.split(/^(?=BSS [0-9a-f]{2}:)/m)
  return blocks.flatMap(block => readBlock(block, isCached) ?? [])
}

const readBlock = (block: string, isCached: boolean): WifiNetwork | undefined => {
  const [head = ''] = block.split('\n', 1)
  const [, bssid, device = '', more = ''] = START.exec(head) ?? []
  if (bssid === undefined) return undefined
  const find = (pattern: RegExp): string | undefined => pattern.exec(block)?.[1]
  const signal = Number(find(/^\tsignal: (-?[0-9.]+) dBm/m) ?? Number.NaN)
  const age = find(/^\tlast seen: ([0-9]+) ms ago/m)
  return {
    bssid,
    ...describeName(decodeName(find(/^\tSSID: (.*)$/m) ?? '')),
    interface: device,
    ...describeFrequency(Number(find(/^\tfreq: ([0-9.]+)/m))),
    width_mhz: findWidth(block),
    signal_dbm: Number.isNaN(signal) ? null : signal,
    signal_percent: null,
    ...describeSecurity(listModes(block)),
    age_s: age === undefined ? null : Number(age) / 1000,
    is_cached: isCached,
    is_connected: / -- (associated|joined)/.test(more),
    source: 'iw',
  }
}

/** `iw` writes a byte that is not printable, or a backslash, as `\xNN`. */
const decodeName = (text: string): string => {
  const bytes = text.replaceAll(/\\x([0-9a-f]{2})/g, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  )
  return Buffer.from(bytes, 'latin1').toString('utf8')
}

/** Width in MHz by the operation elements of VHT, else HT (IEEE 802.11-2020, 9.4.2.56 and .158). */
const findWidth = (block: string): number | null => {
  const wide = /\* channel width: ([1-3]) \(/.exec(partOf(block, 'VHT operation'))?.[1]
  if (wide !== undefined) return wide === '1' ? 80 : 160
  const narrow = partOf(block, 'HT operation')
  if (narrow === '') return null
  return /\* secondary channel offset: (above|below)/.test(narrow) ? 40 : 20
}

/** Lines of an element: those that follow its title and are indented deeper. */
const partOf = (block: string, title: string): string =>
  new RegExp(`^\\t${title}:(.*(?:\\n\\t\\t.*)*)`, 'm').exec(block)?.[1] ?? ''

const listModes = (block: string): WifiSecurity[] => {
  const robust = partOf(block, 'RSN')
  const modes = readSuites(robust)
  if (partOf(block, 'WPA') !== '')
    modes.push(isEnterprise(partOf(block, 'WPA')) ? 'enterprise' : 'wpa')
  if (/OWE Transition Mode/.test(block)) modes.push('owe', 'open')
  const isPrivate = /^\tcapability:.*\bPrivacy\b/m.test(block)
  return modes.length === 0 && isPrivate ? ['wep'] : modes
}

const isEnterprise = (part: string): boolean => /IEEE 802\.1X|802\.1X/.test(part)

const readSuites = (part: string): WifiSecurity[] => {
  const [, suites] = /\* Authentication suites: (.*)/.exec(part) ?? []
  if (suites === undefined) return part === '' ? [] : ['unknown']
  const modes: WifiSecurity[] = []
  if (isEnterprise(suites)) modes.push('enterprise')
  if (/\bPSK\b/.test(suites)) modes.push('wpa2')
  if (/\bSAE\b/.test(suites)) modes.push('wpa3')
  if (/\bOWE\b/.test(suites)) modes.push('owe')
  return modes.length === 0 ? ['unknown'] : modes
}
