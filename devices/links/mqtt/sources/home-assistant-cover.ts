import homeAssistantCover from '../../../profiles/home-assistant-cover.ts'
import homeAssistantEntrance from '../../../profiles/home-assistant-entrance.ts'
import type { MqttCommand, TopicReader } from '../found-device.ts'
import { renderCommand } from './command-template.ts'
import { type CoverFacts, describeCover } from './cover.ts'
import { toNumber, toWord } from './fields.ts'
import { toCommands } from './home-assistant-actors.ts'
import type { Entity } from './home-assistant-entity.ts'
import { type EntityDevice, readState, readTopic } from './home-assistant-state.ts'
import { mergeReaders } from './merge-readers.ts'

/* Covers of Home Assistant (components/mqtt/cover.py). A command whose payload is null does not
   exist. */

/** Classes through which people come in. */
const ENTRANCES: readonly string[] = ['door', 'garage', 'gate']

export const createCover = (entity: Entity): EntityDevice | undefined => {
  const { command_topic: topic, set_position_topic, device_class = '' } = entity
  if (topic === undefined && set_position_topic === undefined) return undefined
  const states = readState(entity, value => describeCover(readWord(entity, toWord(value))))
  const positions = readPosition(entity, states.size > 0)
  const isReported = states.size + positions.size > 0
  const state = (value: string) => isReported && { property: 'cover_state', value }
  return {
    profile: ENTRANCES.includes(device_class) ? homeAssistantEntrance : homeAssistantCover,
    stopVerb: 'stop',
    topics: mergeReaders([...states, ...positions]),
    ...toCommands({
      ...createMove(topic, 'open', entity.payload_open, 'OPEN', state('open')),
      ...createMove(topic, 'close', entity.payload_close, 'CLOSE', state('closed')),
      ...createMove(
        topic,
        'stop',
        entity.payload_stop,
        'STOP',
        states.size > 0 && { property: 'moving', value: false },
      ),
      ...createPosition(entity, positions.size > 0),
    }),
  }
}

const createMove = (
  topic: string | undefined,
  verb: string,
  payload: string | number | boolean | null | undefined,
  fallback: string,
  confirm: MqttCommand['confirm'] | false,
): Record<string, MqttCommand> =>
  topic === undefined || payload === null
    ? {}
    : { [verb]: { topic, payload: toWord(payload ?? fallback), ...(confirm && { confirm }) } }

const createPosition = (
  { set_position_topic: topic, set_position_template, ...entity }: Entity,
  isReported: boolean,
): Record<string, MqttCommand | undefined> => {
  if (topic === undefined) return {}
  const { position_open: full = 100, position_closed: zero = 0 } = entity
  const variables = { value: '{level}', position: '{percent}' }
  const payload = renderCommand(set_position_template, variables)
  const confirm = { property: 'position_percent', value: '{percent}', within: 2 }
  return {
    position:
      payload === undefined
        ? undefined
        : {
            topic,
            payload,
            isTemplate: true,
            range: { zero, full },
            ...(isReported && { confirm }),
          },
  }
}

const readWord = (entity: Entity, word: string): CoverFacts => {
  const { state_open = 'open', state_closed = 'closed', state_stopped = 'stopped' } = entity
  const { state_opening = 'opening', state_closing = 'closing' } = entity
  if (word === state_opening) return { motion: 'opening' }
  if (word === state_closing) return { motion: 'closing' }
  if (word === state_open) return { motion: 'stopped', place: 'open' }
  if (word === state_closed) return { motion: 'stopped', place: 'closed' }
  return word === state_stopped ? { motion: 'stopped' } : {}
}

/** Reader of the position, which tells the state only where no topic does. */
const readPosition = (
  { position_topic, position_template, position_open = 100, position_closed = 0 }: Entity,
  hasState: boolean,
): Map<string, TopicReader> =>
  readTopic(position_topic, position_template, value => {
    const position = toNumber(value)
    if (position === undefined || position_open === position_closed) return {}
    const share = (position - position_closed) / (position_open - position_closed)
    const positionPercent = Math.round(Math.min(1, Math.max(0, share)) * 100)
    return hasState ? { position_percent: positionPercent } : describeCover({ positionPercent })
  })
