import { pbkdf2Sync, randomBytes } from 'node:crypto'
import { MAX_PACKET_BYTES, TOPICS, type TopicName, topicFor } from '../../../shared/wire/topics.ts'
import { createBrokerTopics } from './broker-topics.ts'
import type { Login } from './external.ts'

interface MosquittoOptions {
  /** Folder the files will lie in; mosquitto wants absolute paths. */
  folder: string
  /** Listen address of mosquitto. */
  host: string
  port: number
  coordinator: Login
  cells: Login
}

/** Files for an Eclipse mosquitto 2 that serves one coordinator, by name. */
export const mosquittoFiles = (options: MosquittoOptions): Record<string, string> => ({
  'mosquitto.conf': configuration(options),
  acl: accessRules(options.coordinator.username),
  passwords: [options.coordinator, options.cells].map(passwordLine).join(''),
})

/**
 * mosquitto.conf(5). Queues hold a whole fleet's births while the coordinator is busy; nothing is
 * written to the disk, because cells say everything again on every connect.
 */
const configuration = ({ folder, host, port }: MosquittoOptions): string => `\
listener ${port} ${host}
allow_anonymous false
password_file ${folder}/passwords
acl_file ${folder}/acl
max_packet_size ${MAX_PACKET_BYTES + 128}
max_inflight_messages 1000
max_queued_messages 100000
persistence false
`

/**
 * The rules of the one topic table, for one coordinator and for several (`broker-topics.ts`). `%c` is
 * the client id, that of several with the coordinator's; mosquitto refuses wildcards in it.
 */
const accessRules = (coordinator: string): string => {
  const names = Object.keys(TOPICS) as TopicName[]
  const several = createBrokerTopics('+')
  const rule = (name: TopicName, topic: string, writer: 'up' | 'down'): string =>
    `${TOPICS[name].direction === writer ? 'write' : 'read'} ${topic}\n`
  const own = (name: TopicName): string[] => {
    const topic = topicFor(name, '+')
    return [topic, several.toBroker(topic)].map(each => `topic ${rule(name, each, 'down')}`)
  }
  const ofCells = names.map(name => `pattern ${rule(name, topicFor(name, '%c'), 'up')}`)
  const presence = several.toBroker(topicFor('coordinator', ''))
  return [
    `user ${coordinator}\n`,
    ...names.flatMap(own),
    '\n',
    ...ofCells,
    `pattern ${rule('coordinator', presence, 'up')}`,
  ].join('')
}

const ITERATIONS = 101
const SALT_BYTES = 12
const HASH_BYTES = 64

/** Password hash in the format of mosquitto_passwd(1): `$7$` is PBKDF2 with SHA-512. */
const passwordLine = ({ username, password }: Login): string => {
  const salt = randomBytes(SALT_BYTES)
  const hash = pbkdf2Sync(password, salt, ITERATIONS, HASH_BYTES, 'sha512')
  return `${username}:$7$${ITERATIONS}$${salt.toString('base64')}$${hash.toString('base64')}\n`
}
