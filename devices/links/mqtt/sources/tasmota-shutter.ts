import { toName } from '../../../declared/values.ts'
import tasmotaCover from '../../../profiles/tasmota-cover.ts'
import type { FoundDevice, MqttCommand, TopicReader } from '../found-device.ts'
import { type CoverFacts, describeCover } from './cover.ts'
import { fieldOf } from './fields.ts'
import { createPresenceReader, type TasmotaConfig, topicOf } from './tasmota-config.ts'

/* Shutters of Tasmota (xdrv_27_shutter.ino): two relays each. They are addressed by the number of the
   shutter, never by their relays, and `sho` has the options of each. */

const SHUTTER_RELAY = 3
/** Bits of the options. */
const [INVERTED, LOCKED] = [1, 2]

export const createShutters = (config: TasmotaConfig): FoundDevice[] => {
  const relays = config.rl.filter(kind => kind === SHUTTER_RELAY).length
  // the options name every shutter; older versions leave them out
  const count = Math.min(Math.floor(relays / 2), config.sho?.length ?? Number.POSITIVE_INFINITY)
  return Array.from({ length: count }, (_, index) => createShutter(config, index, count))
}

const createShutter = (config: TasmotaConfig, index: number, count: number): FoundDevice => {
  const { mac, dn, sho = [] } = config
  const number = index + 1
  const options = sho[index] ?? 0
  const name = `${dn ?? `Tasmota ${mac.toUpperCase()}`} shutter`
  return {
    identity: `tasmota:${mac.toUpperCase()}:shutter:${number}`,
    name: toName(count === 1 ? name : `${name} ${number}`, mac),
    profile: tasmotaCover,
    stopVerb: 'stop',
    commands: createCommands(config, number, (options & INVERTED) > 0),
    topics: createReaders(config, number, (options & INVERTED) > 0),
    question: { topic: topicOf(config, 'command', 'STATUS'), payload: '10' },
    readOnlyReason: options & LOCKED ? 'the shutter is locked in its own settings' : undefined,
  }
}

const createCommands = (
  config: TasmotaConfig,
  number: number,
  isInverted: boolean,
): Record<string, MqttCommand> => {
  const topic = (command: string): string => topicOf(config, 'command', `${command}${number}`)
  const state = (value: string) => ({ property: 'cover_state', value })
  return {
    open: { topic: topic('ShutterOpen'), payload: '', confirm: state('open') },
    close: { topic: topic('ShutterClose'), payload: '', confirm: state('closed') },
    stop: {
      topic: topic('ShutterStop'),
      payload: '',
      confirm: { property: 'moving', value: false },
    },
    position: {
      topic: topic('ShutterPosition'),
      payload: '{level}',
      isTemplate: true,
      range: isInverted ? { zero: 100, full: 0 } : { zero: 0, full: 100 },
      confirm: { property: 'position_percent', value: '{percent}', within: 2 },
    },
  }
}

const createReaders = (
  config: TasmotaConfig,
  number: number,
  isInverted: boolean,
): Map<string, TopicReader> => {
  const read = (json: unknown) => {
    const facts = toFacts(fieldOf(json, `Shutter${number}`), isInverted)
    return facts && { values: describeCover(facts) }
  }
  const readReport: TopicReader = ({ json }) => read(json)
  return new Map<string, TopicReader>([
    [topicOf(config, 'result', 'RESULT'), readReport],
    [topicOf(config, 'result', 'SHUTTER'), readReport],
    [topicOf(config, 'telemetry', 'SENSOR'), readReport],
    [topicOf(config, 'result', 'STATUS10'), ({ json }) => read(fieldOf(json, 'StatusSNS'))],
    createPresenceReader(config),
  ])
}

/** `{"Position":50,"Direction":-1,...}`; an inverted shutter reports the position the other way round. */
const toFacts = (shutter: unknown, isInverted: boolean): CoverFacts | undefined => {
  const position = fieldOf(shutter, 'Position')
  const direction = fieldOf(shutter, 'Direction')
  if (typeof position !== 'number' || typeof direction !== 'number') return undefined
  // versions differ in the sign of an inverted shutter
  const motion = isInverted ? 'moving' : direction > 0 ? 'opening' : 'closing'
  return {
    positionPercent: isInverted ? 100 - position : position,
    motion: direction === 0 ? 'stopped' : motion,
  }
}
