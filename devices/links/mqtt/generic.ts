import { toPropertyFacts, toVerb } from '../../declared/build.ts'
import { readPointer } from '../../declared/pointer.ts'
import { type DeviceProfile, defineProfile } from '../../profile.ts'
import type { GenericDevice } from './config.ts'
import type { FoundDevice, TopicReader } from './found-device.ts'
import { planCommand } from './plan-command.ts'
import { toFlag } from './sources/fields.ts'

/** A device of the configuration. Its identity is the cell and its name, for it tells no other. */
export const createGenericDevice = (cellId: string, config: GenericDevice): FoundDevice => {
  const { name, site, envelope, verbs, estop_verb: stopVerb } = config
  return {
    identity: `${cellId}:mqtt:${name}`,
    name,
    profile: createGenericProfile(config),
    commands: Object.fromEntries(
      Object.entries(verbs).map(([verb, { topic, payload, confirm }]) => [
        verb,
        { topic, payload, isTemplate: true, ...(confirm && { confirm }) },
      ]),
    ),
    topics: createReaders(config),
    stopVerb,
    site,
    envelope,
  }
}

const createGenericProfile = ({
  name,
  properties,
  verbs,
  estop_verb,
}: GenericDevice): DeviceProfile =>
  defineProfile({
    id: `mqtt-generic-${name}`,
    title: `MQTT device ${name}`,
    kind: 'other',
    link: 'mqtt',
    properties: toPropertyFacts(properties),
    atEstop: estop_verb === undefined ? 'none' : 'cut',
    verbs: Object.fromEntries(
      Object.entries(verbs).map(([verb, declared]) => [
        verb,
        toVerb(declared, (params, target) => planCommand(verb, params, target)),
      ]),
    ),
  })

const createReaders = ({ availability, properties }: GenericDevice): Map<string, TopicReader> => {
  const readers = new Map<string, TopicReader>()
  const topics = new Set(Object.values(properties).map(({ topic }) => topic))
  for (const topic of topics) {
    const own = Object.entries(properties).filter(([, property]) => property.topic === topic)
    readers.set(topic, ({ text, json }) => ({
      values: Object.fromEntries(
        own.map(([name, { pointer }]) => [
          name,
          pointer === '' ? (json ?? text) : readPointer(json, pointer),
        ]),
      ),
    }))
  }
  if (availability !== undefined) {
    const { topic, online, offline } = availability
    readers.set(topic, ({ text }) => {
      const available = toFlag(text, online, offline)
      return available === undefined ? undefined : { available }
    })
  }
  return readers
}
