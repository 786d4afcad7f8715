import type { FoundDevice, TopicReader } from '../found-device.ts'
import { toFlag, toWord } from './fields.ts'
import type { Entity } from './home-assistant-entity.ts'
import { parseValueTemplate } from './value-template.ts'

/** Kind and commands of an entity, without its identity and its availability. */
export type EntityDevice = Pick<
  FoundDevice,
  'profile' | 'commands' | 'topics' | 'stopVerb' | 'readOnlyReason'
>

type Values = Readonly<Record<string, unknown>>

/** Reader of a topic; none for a value template that is not understood. */
export const readTopic = (
  topic: string | undefined,
  template: string | undefined,
  read: (value: unknown) => Values,
): Map<string, TopicReader> => {
  const readValue = parseValueTemplate(template)
  if (topic === undefined || readValue === undefined) return new Map()
  return new Map([[topic, payload => ({ values: read(readValue(payload)) })]])
}

/** Reader of the state topic; none for a value template that is not understood. */
export const readState = (
  { state_topic, value_template }: Entity,
  read: (value: unknown) => Values,
): Map<string, TopicReader> => readTopic(state_topic, value_template, read)

export const readOn = (
  { payload_on = 'ON', payload_off = 'OFF', state_on, state_off }: Entity,
  value: unknown,
): boolean | undefined => toFlag(toWord(value), state_on ?? payload_on, state_off ?? payload_off)
