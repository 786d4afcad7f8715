import type { WifiNetwork } from './wifi-network.ts'

type Place = Pick<WifiNetwork, 'band' | 'channel' | 'frequency_mhz'>

interface Band {
  band: WifiNetwork['band']
  from: number
  to: number
  /** Frequency of channel 0, MHz. */
  start: number
  /** Distance of channel numbers, MHz. */
  step: number
}

/** Frequencies of channels (IEEE 802.11-2020, annex E), MHz. */
const BANDS: readonly Band[] = [
  { band: '2.4_ghz', from: 2412, to: 2472, start: 2407, step: 5 },
  { band: '5_ghz', from: 5000, to: 5925, start: 5000, step: 5 },
  { band: '6_ghz', from: 5955, to: 7115, start: 5950, step: 5 },
  { band: '60_ghz', from: 58_320, to: 70_200, start: 56_160, step: 2160 },
]

/** Channels whose numbers do not follow from their frequencies. */
const SINGLE: Readonly<Record<number, Pick<Place, 'band' | 'channel'>>> = {
  2484: { band: '2.4_ghz', channel: 14 },
  5935: { band: '6_ghz', channel: 2 },
}

/** Band and channel of a frequency in MHz; all null without one. */
export const describeFrequency = (mhz: number): Place => {
  if (!(mhz > 0)) return { band: null, channel: null, frequency_mhz: null }
  const frequency_mhz = Math.round(mhz)
  const single = SINGLE[frequency_mhz]
  if (single !== undefined) return { ...single, frequency_mhz }
  const found = BANDS.find(({ from, to }) => frequency_mhz >= from && frequency_mhz <= to)
  if (found === undefined) return { band: null, channel: null, frequency_mhz }
  const channel = Math.round((frequency_mhz - found.start) / found.step)
  return { band: found.band, channel: channel > 0 ? channel : null, frequency_mhz }
}
