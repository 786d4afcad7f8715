import * as z from 'zod'
import type { TopicReader } from '../found-device.ts'
import { optional, Text, toFlag } from './fields.ts'

/* Native discovery of Tasmota 9.3 and later: `tasmota/discovery/MAC/config` (docs, MQTT and Device
   configuration; xdrv_12_discovery.ino). */

export const TasmotaConfig = z.object({
  mac: z.string().regex(/^[0-9A-Fa-f]{12}$/),
  /** Topic of the device, and the template of its full topics. */
  t: z.string().min(1).max(128),
  ft: z.string().min(1).max(128),
  /** Prefixes of commands, results and telemetry. */
  tp: z.tuple([z.string().max(64), z.string().max(64), z.string().max(64)]),
  /** Kind of each relay: 0 none, 1 relay, 2 light, 3 one of the two of a shutter. */
  rl: z.array(z.number()).max(32),
  dn: Text,
  hn: Text,
  fn: optional(z.array(z.string().nullable()).max(32)),
  /** Options of each shutter, as bits. */
  sho: optional(z.array(z.number()).max(16)),
  /** Words for off and on. */
  state: z.array(z.string().max(32)).min(2).max(8).catch(['OFF', 'ON']),
  onln: z.string().max(64).catch('Online'),
  ofln: z.string().max(64).catch('Offline'),
})
export type TasmotaConfig = z.infer<typeof TasmotaConfig>

const PREFIXES = { command: 0, result: 1, telemetry: 2 } as const

export const topicOf = (
  { ft, t, tp, hn = '', mac }: TasmotaConfig,
  prefix: keyof typeof PREFIXES,
  name: string,
): string => {
  const full = ft
    .replaceAll('%prefix%', tp[PREFIXES[prefix]])
    .replaceAll('%topic%', t)
    .replaceAll('%hostname%', hn)
    .replaceAll('%id%', mac.slice(-6).toUpperCase())
  return `${full}${full.endsWith('/') ? '' : '/'}${name}`
}

/** Reader of the last will. */
export const createPresenceReader = (config: TasmotaConfig): [string, TopicReader] => [
  topicOf(config, 'telemetry', 'LWT'),
  ({ text }) => {
    const available = toFlag(text, config.onln, config.ofln)
    return available === undefined ? undefined : { available }
  },
]
